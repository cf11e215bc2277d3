package io.github.onewrite.okhttp;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.internal.CallTimer;
import io.github.onewrite.internal.ErrorKinds;
import io.github.onewrite.internal.Hooks;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.SocketException;
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
 * Turns OkHttp's events into the common record, and passes each on to the listener the client had before. OkHttp does
 * not report the first byte of a response: the moment its head is read stands for it. Bytes of the head and system calls it does
 * not report either, so they are absent.
 *
 * <p>OkHttp 5 races connections over several threads; hence the lock, which is free of contention otherwise.
 */
final class TimingEventListener extends EventListener {

    /** Makes a listener per call; where nothing listens, the client's own listener alone. */
    static final class Factory implements EventListener.Factory {
        private final Hooks hooks;
        private final EventListener.Factory next;
        private final boolean nodelay;
        private final Connections connections = new Connections();

        Factory(Hooks hooks, EventListener.Factory next, boolean nodelay) {
            this.hooks = hooks;
            this.next = next;
            this.nodelay = nodelay;
        }

        @Override
        public EventListener create(Call call) {
            EventListener listener = next.create(call);
            Request request = call.request();
            CallTimer timer =
                    CallTimer.start(hooks, request.method(), request.url().toString(), request.tag());
            return timer == null && !nodelay
                    ? listener
                    : new TimingEventListener(timer, listener, connections, nodelay);
        }
    }

    private final @Nullable CallTimer timer;
    private final EventListener next;
    private final Connections connections;
    private final boolean nodelay;
    private boolean answered;
    private @Nullable Phase lost;

    private TimingEventListener(
            @Nullable CallTimer timer, EventListener next, Connections connections, boolean nodelay) {
        this.timer = timer;
        this.next = next;
        this.connections = connections;
        this.nodelay = nodelay;
    }

    private interface Step {
        void on(CallTimer timer);
    }

    private synchronized void step(Step step) {
        if (timer != null) {
            step.on(timer);
        }
    }

    /** What comes after an answered or lost attempt belongs to the next: a redirect, a challenge, a retry. */
    private void attempt(CallTimer with) {
        if (answered || lost != null) {
            with.attemptEnd(lost == null ? Outcome.OK : Outcome.ERROR, null);
            answered = false;
            lost = null;
        }
        with.attemptStart();
    }

    @Override
    public void callStart(Call call) {
        step(this::attempt);
        next.callStart(call);
    }

    @Override
    public void callEnd(Call call) {
        step(with -> with.callEnd(Outcome.OK, null, null));
        next.callEnd(call);
    }

    @Override
    public void callFailed(Call call, IOException failure) {
        step(with -> {
            // A call timeout cancels, too. The event of a cancel may come after the failure it caused.
            boolean cancelled = call.isCanceled() && !(failure instanceof InterruptedIOException);
            ErrorKind kind = cancelled ? ErrorKind.CANCELLED : ErrorKinds.of(failure);
            Outcome outcome = kind == ErrorKind.CANCELLED ? Outcome.CANCELLED : Outcome.ERROR;
            Phase failedIn = lost == null ? with.phase() : lost;
            with.attemptEnd(outcome, failure);
            with.callEnd(outcome, kind, failedIn);
        });
        next.callFailed(call, failure);
    }

    @Override
    public void canceled(Call call) {
        next.canceled(call);
    }

    @Override
    public void dispatcherQueueStart(Call call, Dispatcher dispatcher) {
        step(CallTimer::queueStart);
        next.dispatcherQueueStart(call, dispatcher);
    }

    @Override
    public void dispatcherQueueEnd(Call call, Dispatcher dispatcher) {
        step(CallTimer::queueEnd);
        next.dispatcherQueueEnd(call, dispatcher);
    }

    @Override
    public void dnsStart(Call call, String domainName) {
        step(with -> {
            attempt(with);
            with.dnsStart(domainName);
        });
        next.dnsStart(call, domainName);
    }

    @Override
    public void dnsEnd(Call call, String domainName, List<InetAddress> inetAddressList) {
        step(with -> with.dnsEnd(null));
        next.dnsEnd(call, domainName, inetAddressList);
    }

    @Override
    public void connectStart(Call call, InetSocketAddress inetSocketAddress, Proxy proxy) {
        step(with -> {
            attempt(with);
            with.connectStart();
        });
        next.connectStart(call, inetSocketAddress, proxy);
    }

    @Override
    public void secureConnectStart(Call call) {
        step(with -> {
            with.connectEnd(null);
            with.tlsStart();
        });
        next.secureConnectStart(call);
    }

    @Override
    public void secureConnectEnd(Call call, @Nullable Handshake handshake) {
        step(with -> with.tlsEnd(null));
        next.secureConnectEnd(call, handshake);
    }

    @Override
    public void connectEnd(Call call, InetSocketAddress inetSocketAddress, Proxy proxy, @Nullable Protocol protocol) {
        step(with -> with.connectEnd(null));
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
        if (nodelay && connection.route().proxy().type() == Proxy.Type.SOCKS) {
            lateNodelay(connection);
        }
        step(with -> {
            attempt(with);
            connections.acquired(connection, with);
        });
        next.connectionAcquired(call, connection);
    }

    /** OkHttp makes the sockets of SOCKS proxies itself: later than the handshake, but in time for the request. */
    private static void lateNodelay(Connection connection) {
        try {
            connection.socket().setTcpNoDelay(true);
        } catch (SocketException e) {
            // The socket is closed: the call is about to find out by itself.
            System.getLogger("io.github.onewrite").log(System.Logger.Level.DEBUG, "TCP_NODELAY", e);
        }
    }

    @Override
    public void connectionReleased(Call call, Connection connection) {
        step(with -> {
            connections.released(connection);
            with.connectionReleased(!connection.socket().isClosed());
        });
        next.connectionReleased(call, connection);
    }

    @Override
    public void requestHeadersStart(Call call) {
        step(CallTimer::requestStart);
        next.requestHeadersStart(call);
    }

    /** Without a body, the end of the head is the end of the request. Its flush follows at once. */
    @Override
    public void requestHeadersEnd(Call call, Request request) {
        if (request.body() == null) {
            step(with -> with.requestEnd(-1, -1));
        }
        next.requestHeadersEnd(call, request);
    }

    /** The flush of the last bytes follows at once. */
    @Override
    public void requestBodyEnd(Call call, long byteCount) {
        step(with -> with.requestEnd(-1, -1));
        next.requestBodyEnd(call, byteCount);
    }

    /** Comes when the head is read, not when its reading begins (CallServerInterceptor). */
    @Override
    public void responseHeadersStart(Call call) {
        step(with -> with.responseStart(System.nanoTime()));
        next.responseHeadersStart(call);
    }

    @Override
    public void responseHeadersEnd(Call call, Response response) {
        step(with -> {
            with.headersEnd(response.code());
            answered = true;
        });
        next.responseHeadersEnd(call, response);
    }

    @Override
    public void responseBodyEnd(Call call, long byteCount) {
        step(with -> with.responseEnd(byteCount));
        next.responseBodyEnd(call, byteCount);
    }

    @Override
    public void requestFailed(Call call, IOException failure) {
        lose();
        next.requestFailed(call, failure);
    }

    @Override
    public void responseFailed(Call call, IOException failure) {
        lose();
        next.responseFailed(call, failure);
    }

    /** The attempt is lost; OkHttp may try again, or fail the call. */
    private void lose() {
        step(with -> lost = with.phase());
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
    public void requestBodyStart(Call call) {
        next.requestBodyStart(call);
    }

    @Override
    public void responseBodyStart(Call call) {
        next.responseBodyStart(call);
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
