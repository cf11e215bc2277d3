package io.github.onewrite.okhttp;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.spi.CallTimer;
import io.github.onewrite.spi.ErrorKinds;
import io.github.onewrite.spi.Hooks;
import io.github.onewrite.spi.ServerTimings;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.ref.WeakReference;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.Consumer;
import okhttp3.Call;
import okhttp3.Connection;
import okhttp3.Dispatcher;
import okhttp3.EventListener;
import okhttp3.Handshake;
import okhttp3.Interceptor;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.Response;
import org.jspecify.annotations.Nullable;

/**
 * Turns OkHttp's events into the common record, and passes each on to the listener the client had before. OkHttp does
 * not report the first byte of a response: the moment its head is read stands for it. Bytes of the head and system calls it does
 * not report either, so they are absent.
 *
 * <p>OkHttp 5 races connections over several threads; hence {@link CallTimer#step}.
 */
final class TimingEventListener extends ForwardingEventListener {

    /** Makes a listener per call. Without hooks one {@link LateNodelay} serves all calls. */
    static final class Factory implements EventListener.Factory {
        private final Hooks hooks;
        private final EventListener.Factory next;
        private final boolean nodelay;
        private final Connections connections = new Connections();

        /** Both sides are weak: a client's own listener may refer to its call. */
        private final Map<Call, WeakReference<TimingEventListener>> calls =
                Collections.synchronizedMap(new WeakHashMap<>());

        private volatile LateNodelay untimed = new LateNodelay(EventListener.NONE);

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
            if (timer == null) {
                return nodelay ? lateNodelay(listener) : listener;
            }
            TimingEventListener timed =
                    new TimingEventListener(timer, nodelay ? lateNodelay(listener) : listener, connections);
            calls.put(call, new WeakReference<>(timed));
            return timed;
        }

        /**
         * The outermost interceptor. OkHttp reports the end of a call whose interceptor threw an unchecked exception as
         * callEnd, which it also reports after a response (RealCall.getResponseWithInterceptorChain).
         */
        Response intercept(Interceptor.Chain chain) throws IOException {
            try {
                return chain.proceed(chain.request());
            } catch (RuntimeException | Error e) {
                WeakReference<TimingEventListener> timed = calls.get(chain.call());
                TimingEventListener listener = timed == null ? null : timed.get();
                if (listener != null) {
                    listener.failed(chain.call(), e);
                }
                throw e;
            }
        }

        /** Reused from the previous call where the client has one listener for all calls, or none. */
        private LateNodelay lateNodelay(EventListener listener) {
            LateNodelay last = untimed;
            if (last.next() != listener) {
                last = new LateNodelay(listener);
                untimed = last;
            }
            return last;
        }
    }

    private final CallTimer timer;
    private final Connections connections;
    private boolean dequeued;
    private boolean answered;
    private @Nullable Phase lost;

    private TimingEventListener(CallTimer timer, EventListener next, Connections connections) {
        super(next);
        this.timer = timer;
        this.connections = connections;
    }

    private void step(Consumer<CallTimer> step) {
        timer.step(step);
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
        super.callStart(call);
    }

    @Override
    public void callEnd(Call call) {
        step(with -> with.callEnd(Outcome.OK, null, null));
        super.callEnd(call);
    }

    @Override
    public void callFailed(Call call, IOException failure) {
        failed(call, failure);
        super.callFailed(call, failure);
    }

    private void failed(Call call, Throwable failure) {
        step(with -> {
            // A call timeout cancels, too. The event of a cancel may come after the failure it caused.
            boolean cancelled = call.isCanceled() && !(failure instanceof InterruptedIOException);
            ErrorKind kind = cancelled ? ErrorKind.CANCELLED : ErrorKinds.of(failure);
            Outcome outcome = kind == ErrorKind.CANCELLED ? Outcome.CANCELLED : Outcome.ERROR;
            Phase failedIn = lost == null ? with.phase() : lost;
            with.attemptEnd(outcome, failure);
            with.callEnd(outcome, kind, failedIn);
        });
    }

    /** May come after the end of the wait, and when the call is under way: another call's end has let it run. */
    @Override
    public void dispatcherQueueStart(Call call, Dispatcher dispatcher) {
        step(with -> {
            if (!dequeued) {
                with.queueStart();
            }
        });
        super.dispatcherQueueStart(call, dispatcher);
    }

    /** Comes before the call runs (Dispatcher.promoteAndExecute). */
    @Override
    public void dispatcherQueueEnd(Call call, Dispatcher dispatcher) {
        step(with -> {
            dequeued = true;
            with.queuedSinceStart();
            with.queueEnd();
        });
        super.dispatcherQueueEnd(call, dispatcher);
    }

    @Override
    public void dnsStart(Call call, String domainName) {
        step(with -> {
            attempt(with);
            with.dnsStart(domainName);
        });
        super.dnsStart(call, domainName);
    }

    @Override
    public void dnsEnd(Call call, String domainName, List<InetAddress> inetAddressList) {
        step(with -> with.dnsEnd(null));
        super.dnsEnd(call, domainName, inetAddressList);
    }

    @Override
    public void connectStart(Call call, InetSocketAddress inetSocketAddress, Proxy proxy) {
        step(with -> {
            attempt(with);
            with.connectStart();
        });
        super.connectStart(call, inetSocketAddress, proxy);
    }

    @Override
    public void secureConnectStart(Call call) {
        step(with -> {
            with.connectEnd(null);
            with.tlsStart();
        });
        super.secureConnectStart(call);
    }

    @Override
    public void secureConnectEnd(Call call, @Nullable Handshake handshake) {
        step(with -> with.tlsEnd(null));
        super.secureConnectEnd(call, handshake);
    }

    @Override
    public void connectEnd(Call call, InetSocketAddress inetSocketAddress, Proxy proxy, @Nullable Protocol protocol) {
        step(with -> with.connectEnd(null));
        super.connectEnd(call, inetSocketAddress, proxy, protocol);
    }

    @Override
    public void connectionAcquired(Call call, Connection connection) {
        step(with -> {
            attempt(with);
            connections.acquired(connection, with);
        });
        super.connectionAcquired(call, connection);
    }

    @Override
    public void connectionReleased(Call call, Connection connection) {
        step(with -> {
            connections.released(connection);
            with.connectionReleased(!connection.socket().isClosed());
        });
        super.connectionReleased(call, connection);
    }

    @Override
    public void requestHeadersStart(Call call) {
        step(with -> {
            with.requestWrite();
            with.requestStart();
        });
        super.requestHeadersStart(call);
    }

    /** Without a body, the end of the head is the end of the request. Its flush follows at once. */
    @Override
    public void requestHeadersEnd(Call call, Request request) {
        if (request.body() == null) {
            step(with -> with.requestEnd(-1, -1));
        }
        super.requestHeadersEnd(call, request);
    }

    /** The flush of the last bytes follows at once. */
    @Override
    public void requestBodyEnd(Call call, long byteCount) {
        step(with -> with.requestEnd(-1, -1));
        super.requestBodyEnd(call, byteCount);
    }

    /** Comes when the head is read, not when its reading begins (CallServerInterceptor). */
    @Override
    public void responseHeadersStart(Call call) {
        step(with -> with.responseStart(System.nanoTime()));
        super.responseHeadersStart(call);
    }

    @Override
    public void responseHeadersEnd(Call call, Response response) {
        step(with -> {
            with.headersEnd(response.code(), response.headers(ServerTimings.HEADER));
            answered = true;
        });
        super.responseHeadersEnd(call, response);
    }

    @Override
    public void responseBodyEnd(Call call, long byteCount) {
        step(with -> with.responseEnd(byteCount));
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
        step(with -> {
            lost = with.phase();
            with.progress();
        });
    }
}
