package io.github.onewrite.okhttp;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.ErrorKinds;
import io.github.onewrite.HookQueue;
import io.github.onewrite.Hooks;
import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Outcome;
import io.github.onewrite.SocketCounts;
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
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.Response;
import org.jspecify.annotations.Nullable;

/**
 * Turns OkHttp's events into the common record, and passes each on to the listener the client had before. OkHttp does
 * not report the first byte of a response: the moment its head is read stands for it. Bytes of the head and system calls
 * it does not report either, so they are absent.
 *
 * <p>OkHttp 5 races connections over several threads; hence the {@link HookQueue}.
 */
final class TimingEventListener extends ForwardingEventListener {

    /** Makes a listener per call. Without hooks one {@link NodelayListener} serves all calls. */
    static final class Factory implements EventListener.Factory {
        private final Hooks hooks;
        private final EventListener.Factory next;
        private final OnewriteConfig config;
        private final SocketCounts counts;
        private final Connections connections = new Connections();
        private volatile NodelayListener last;

        Factory(Hooks hooks, EventListener.Factory next, OnewriteConfig config, SocketCounts counts) {
            this.hooks = hooks;
            this.next = next;
            this.config = config;
            this.counts = counts;
            this.last = new NodelayListener(EventListener.NONE, config, counts, connections);
        }

        @Override
        public EventListener create(Call call) {
            EventListener listener = next.create(call);
            if (config.guardsNodelay() || config.coalesces()) {
                listener = checked(listener);
            }
            Request request = call.request();
            TimedCall timed =
                    TimedCall.start(hooks, request.method(), request.url().toString(), request.tag());
            return timed == null ? listener : new TimingEventListener(timed, listener, connections);
        }

        /** Reused from the previous call where the client has one listener for all calls, or none. */
        private NodelayListener checked(EventListener listener) {
            NodelayListener made = last;
            if (made.next() != listener) {
                made = new NodelayListener(listener, config, counts, connections);
                last = made;
            }
            return made;
        }
    }

    private interface Step {
        void take(TimedCall call, long at);
    }

    private final TimedCall call;
    private final HookQueue queue = new HookQueue();
    private final Connections connections;
    private boolean dequeued;
    private boolean answered;
    private boolean lost;

    private TimingEventListener(TimedCall call, EventListener next, Connections connections) {
        super(next);
        this.call = call;
        this.connections = connections;
    }

    private void step(Step step) {
        long at = System.nanoTime();
        queue.run(() -> step.take(call, at));
    }

    /** Steps after an answered or lost attempt belong to the next one: a redirect, a challenge, a retry. */
    private void attempt(TimedCall timed, long at) {
        if (answered || lost) {
            timed.attemptEnd(at, lost ? Outcome.ERROR : Outcome.OK, null);
            answered = false;
            lost = false;
        }
        timed.attempt(at);
    }

    @Override
    public void callStart(Call call) {
        step(this::attempt);
        super.callStart(call);
    }

    @Override
    public void callEnd(Call call) {
        Throwable thrown = UncheckedErrors.of(call);
        if (thrown == null) {
            step(TimedCall::completed);
        } else {
            failed(call, thrown);
        }
        super.callEnd(call);
    }

    @Override
    public void callFailed(Call call, IOException failure) {
        failed(call, failure);
        super.callFailed(call, failure);
    }

    private void failed(Call call, Throwable failure) {
        // A call timeout cancels, too. The event of a cancel may come after the failure it caused.
        boolean cancelled = call.isCanceled() && !(failure instanceof InterruptedIOException);
        ErrorKind kind = cancelled ? ErrorKind.CANCELLED : ErrorKinds.of(failure, OkHttpErrors::kindOf);
        step((timed, at) -> timed.failed(at, kind, failure));
    }

    /** May come after the end of the wait, and when the call is under way: another call's end has let it run. */
    @Override
    public void dispatcherQueueStart(Call call, Dispatcher dispatcher) {
        step((timed, at) -> {
            if (!dequeued) {
                timed.queueStart(at);
            }
        });
        super.dispatcherQueueStart(call, dispatcher);
    }

    /** Comes before the call runs (Dispatcher.promoteAndExecute). */
    @Override
    public void dispatcherQueueEnd(Call call, Dispatcher dispatcher) {
        step((timed, at) -> {
            dequeued = true;
            timed.queued(at);
        });
        super.dispatcherQueueEnd(call, dispatcher);
    }

    @Override
    public void dnsStart(Call call, String domainName) {
        step((timed, at) -> {
            attempt(timed, at);
            timed.dnsStart(at, domainName);
        });
        super.dnsStart(call, domainName);
    }

    @Override
    public void dnsEnd(Call call, String domainName, List<InetAddress> inetAddressList) {
        step((timed, at) -> timed.dnsEnd(at, null));
        super.dnsEnd(call, domainName, inetAddressList);
    }

    @Override
    public void connectStart(Call call, InetSocketAddress inetSocketAddress, Proxy proxy) {
        step((timed, at) -> {
            attempt(timed, at);
            timed.connectStart(at);
        });
        super.connectStart(call, inetSocketAddress, proxy);
    }

    @Override
    public void secureConnectStart(Call call) {
        step((timed, at) -> {
            timed.connectEnd(at, null);
            timed.tlsStart(at);
        });
        super.secureConnectStart(call);
    }

    @Override
    public void secureConnectEnd(Call call, @Nullable Handshake handshake) {
        step((timed, at) -> timed.tlsEnd(at, null));
        super.secureConnectEnd(call, handshake);
    }

    @Override
    public void connectEnd(Call call, InetSocketAddress inetSocketAddress, Proxy proxy, @Nullable Protocol protocol) {
        step((timed, at) -> timed.connectEnd(at, null));
        super.connectEnd(call, inetSocketAddress, proxy, protocol);
    }

    @Override
    public void connectionAcquired(Call call, Connection connection) {
        step((timed, at) -> {
            attempt(timed, at);
            connections.acquired(at, connection, timed);
        });
        super.connectionAcquired(call, connection);
    }

    @Override
    public void connectionReleased(Call call, Connection connection) {
        boolean reusable = !connection.socket().isClosed();
        step((timed, at) -> {
            connections.released(at, connection);
            timed.connectionReleased(at, reusable);
        });
        super.connectionReleased(call, connection);
    }

    @Override
    public void requestHeadersStart(Call call) {
        step((timed, at) -> {
            timed.requestWrite();
            timed.requestStart(at);
        });
        super.requestHeadersStart(call);
    }

    /** Without a body, the end of the head is the end of the request. Its flush follows at once. */
    @Override
    public void requestHeadersEnd(Call call, Request request) {
        if (request.body() == null) {
            step((timed, at) -> timed.requestEnd(at, -1, -1));
        }
        super.requestHeadersEnd(call, request);
    }

    /** The flush of the last bytes follows at once. */
    @Override
    public void requestBodyEnd(Call call, long byteCount) {
        step((timed, at) -> timed.requestEnd(at, -1, -1));
        super.requestBodyEnd(call, byteCount);
    }

    /** Comes when the head is read, not when its reading begins (CallServerInterceptor). */
    @Override
    public void responseHeadersStart(Call call) {
        step(TimedCall::responseStart);
        super.responseHeadersStart(call);
    }

    @Override
    public void responseHeadersEnd(Call call, Response response) {
        int code = response.code();
        step((timed, at) -> {
            timed.headersEnd(code);
            answered = true;
        });
        super.responseHeadersEnd(call, response);
    }

    @Override
    public void responseBodyEnd(Call call, long byteCount) {
        step((timed, at) -> timed.responseEnd(at, byteCount));
        super.responseBodyEnd(call, byteCount);
    }

    @Override
    public void requestFailed(Call call, IOException failure) {
        lose();
        super.requestFailed(call, failure);
    }

    @Override
    public void responseFailed(Call call, IOException failure) {
        lose();
        super.responseFailed(call, failure);
    }

    /** The attempt is lost; OkHttp may try again, or fail the call. */
    private void lose() {
        step((timed, at) -> {
            lost = true;
            timed.progress();
        });
    }
}
