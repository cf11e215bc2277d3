package io.github.onewrite.okhttp;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.ErrorKinds;
import io.github.onewrite.HookQueue;
import io.github.onewrite.Hooks;
import io.github.onewrite.TimedCall;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.util.List;
import okhttp3.Call;
import okhttp3.Connection;
import okhttp3.Dispatcher;
import okhttp3.EventListener;
import okhttp3.Handshake;
import okhttp3.HttpUrl;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.Response;
import org.jspecify.annotations.Nullable;

/**
 * Turns OkHttp's events into the common record, checks new connections, and passes each event on to the listener that the
 * client had before. OkHttp does not report the first byte of a response: the moment its head is read stands for it. Bytes
 * of the head and system calls it does not report either, so they are absent.
 *
 * <p>OkHttp 5 races connections over several threads; hence the {@link HookQueue}. OkHttp 4 has no
 * {@code EventListener.plus}.
 */
final class CallListener extends EventListener {

    /** Makes a listener per call that is timed. Another serves all calls that are not. */
    static final class Factory implements EventListener.Factory {
        private final Hooks hooks;
        private final EventListener.Factory own;
        private final SocketCheck sockets;
        private final Connections connections = new Connections();
        private volatile CallListener untimed;

        Factory(Hooks hooks, EventListener.Factory own, SocketCheck sockets) {
            this.hooks = hooks;
            this.own = own;
            this.sockets = sockets;
            this.untimed = new CallListener(null, EventListener.NONE, this);
        }

        @Override
        public EventListener create(Call call) {
            EventListener next = own.create(call);
            Request request = call.request();
            TimedCall timed =
                    TimedCall.start(hooks, request.method(), request.url().toString(), request.tag());
            if (timed != null) {
                return new CallListener(timed, next, this);
            }
            CallListener last = untimed;
            if (last.next != next) {
                last = new CallListener(null, next, this);
                untimed = last;
            }
            return last;
        }
    }

    private interface Step {
        void take(TimedCall call, long at);
    }

    private final @Nullable TimedCall call;
    private final EventListener next;
    private final SocketCheck sockets;
    private final Connections connections;
    private final HookQueue queue = new HookQueue();

    /** The attempt was answered or lost: what follows is the next one. */
    private boolean over;

    private CallListener(@Nullable TimedCall call, EventListener next, Factory of) {
        this.call = call;
        this.next = next;
        this.sockets = of.sockets;
        this.connections = of.connections;
    }

    private void step(Step step) {
        TimedCall timed = call;
        if (timed != null) {
            long at = System.nanoTime();
            queue.run(() -> step.take(timed, at));
        }
    }

    /** The step is one of the next attempt if the last is over: after a redirect, a challenge, a lost connection. */
    private void attemptStep(Step step) {
        step((timed, at) -> {
            if (over) {
                timed.left(at);
                over = false;
            }
            timed.attempt(at);
            step.take(timed, at);
        });
    }

    @Override
    public void callStart(Call call) {
        step(TimedCall::attempt);
        next.callStart(call);
    }

    @Override
    public void callEnd(Call call) {
        Throwable thrown = UncheckedErrors.of(call);
        if (thrown == null) {
            step(TimedCall::completed);
        } else {
            failed(call, thrown);
        }
        next.callEnd(call);
    }

    @Override
    public void callFailed(Call call, IOException failure) {
        failed(call, failure);
        next.callFailed(call, failure);
    }

    private void failed(Call call, Throwable failure) {
        // A call timeout cancels, too. The event of a cancel may come after the failure it caused.
        boolean cancelled = call.isCanceled() && !(failure instanceof InterruptedIOException);
        ErrorKind kind = cancelled ? ErrorKind.CANCELLED : ErrorKinds.of(failure, OkHttpErrors::kindOf);
        step((timed, at) -> timed.failed(at, kind, failure));
    }

    @Override
    public void canceled(Call call) {
        next.canceled(call);
    }

    /** The start of the wait is the call's; this event may come when the call is under way. */
    @Override
    public void dispatcherQueueStart(Call call, Dispatcher dispatcher) {
        next.dispatcherQueueStart(call, dispatcher);
    }

    /** Comes before the call runs (Dispatcher.promoteAndExecute). */
    @Override
    public void dispatcherQueueEnd(Call call, Dispatcher dispatcher) {
        step(TimedCall::queued);
        next.dispatcherQueueEnd(call, dispatcher);
    }

    @Override
    public void proxySelectStart(Call call, HttpUrl url) {
        next.proxySelectStart(call, url);
    }

    @Override
    public void proxySelectEnd(Call call, HttpUrl url, List<Proxy> proxies) {
        next.proxySelectEnd(call, url, proxies);
    }

    @Override
    public void dnsStart(Call call, String domainName) {
        attemptStep((timed, at) -> timed.dnsStart(at, domainName));
        next.dnsStart(call, domainName);
    }

    @Override
    public void dnsEnd(Call call, String domainName, List<InetAddress> inetAddressList) {
        step(TimedCall::dnsEnd);
        next.dnsEnd(call, domainName, inetAddressList);
    }

    @Override
    public void connectStart(Call call, InetSocketAddress inetSocketAddress, Proxy proxy) {
        attemptStep(TimedCall::connectStart);
        next.connectStart(call, inetSocketAddress, proxy);
    }

    @Override
    public void secureConnectStart(Call call) {
        step((timed, at) -> {
            timed.connectEnd(at);
            timed.tlsStart(at);
        });
        next.secureConnectStart(call);
    }

    @Override
    public void secureConnectEnd(Call call, @Nullable Handshake handshake) {
        step(TimedCall::tlsEnd);
        next.secureConnectEnd(call, handshake);
    }

    @Override
    public void connectEnd(Call call, InetSocketAddress inetSocketAddress, Proxy proxy, @Nullable Protocol protocol) {
        step(TimedCall::connectEnd);
        next.connectEnd(call, inetSocketAddress, proxy, protocol);
    }

    @Override
    public void connectFailed(
            Call call,
            InetSocketAddress inetSocketAddress,
            Proxy proxy,
            @Nullable Protocol protocol,
            IOException failure) {
        next.connectFailed(call, inetSocketAddress, proxy, protocol, failure);
    }

    @Override
    public void connectionAcquired(Call call, Connection connection) {
        sockets.check(connection);
        attemptStep((timed, at) -> connections.acquired(at, connection, timed));
        next.connectionAcquired(call, connection);
    }

    @Override
    public void connectionReleased(Call call, Connection connection) {
        boolean reusable = !connection.socket().isClosed();
        step((timed, at) -> {
            connections.released(at, connection);
            timed.connectionReleased(at, reusable);
        });
        next.connectionReleased(call, connection);
    }

    @Override
    public void requestHeadersStart(Call call) {
        step((timed, at) -> {
            timed.requestWrite();
            timed.requestStart(at);
        });
        next.requestHeadersStart(call);
    }

    /** Without a body, the end of the head is the end of the request. Its flush follows at once. */
    @Override
    public void requestHeadersEnd(Call call, Request request) {
        if (request.body() == null) {
            step((timed, at) -> timed.requestEnd(at, -1, -1));
        }
        next.requestHeadersEnd(call, request);
    }

    @Override
    public void requestBodyStart(Call call) {
        next.requestBodyStart(call);
    }

    /** The flush of the last bytes follows at once. */
    @Override
    public void requestBodyEnd(Call call, long byteCount) {
        step((timed, at) -> timed.requestEnd(at, -1, -1));
        next.requestBodyEnd(call, byteCount);
    }

    @Override
    public void requestFailed(Call call, IOException failure) {
        lose();
        next.requestFailed(call, failure);
    }

    /** OkHttp may try again, or fail the call. */
    private void lose() {
        step((timed, at) -> {
            over = true;
            timed.progress();
        });
    }

    /** Comes when the head is read, not when its reading begins (CallServerInterceptor). */
    @Override
    public void responseHeadersStart(Call call) {
        step(TimedCall::responseStart);
        next.responseHeadersStart(call);
    }

    @Override
    public void responseHeadersEnd(Call call, Response response) {
        int code = response.code();
        step((timed, at) -> {
            timed.headersEnd(code);
            over = true;
        });
        next.responseHeadersEnd(call, response);
    }

    @Override
    public void responseBodyStart(Call call) {
        next.responseBodyStart(call);
    }

    @Override
    public void responseBodyEnd(Call call, long byteCount) {
        step((timed, at) -> timed.responseEnd(at, byteCount));
        next.responseBodyEnd(call, byteCount);
    }

    @Override
    public void responseFailed(Call call, IOException failure) {
        lose();
        next.responseFailed(call, failure);
    }

    @Override
    public void satisfactionFailure(Call call, Response response) {
        next.satisfactionFailure(call, response);
    }

    @Override
    public void cacheHit(Call call, Response response) {
        next.cacheHit(call, response);
    }

    @Override
    public void cacheMiss(Call call) {
        next.cacheMiss(call);
    }

    @Override
    public void cacheConditionalHit(Call call, Response cachedResponse) {
        next.cacheConditionalHit(call, cachedResponse);
    }

    @Override
    public void followUpDecision(Call call, Response networkResponse, @Nullable Request nextRequest) {
        next.followUpDecision(call, networkResponse, nextRequest);
    }

    @Override
    public void retryDecision(Call call, IOException exception, boolean retry) {
        next.retryDecision(call, exception, retry);
    }
}
