package io.github.onewrite.okhttp;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.Phase;
import io.github.onewrite.internal.HookQueue;
import io.github.onewrite.internal.Hooks;
import io.github.onewrite.internal.TimedCall;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import okhttp3.Call;
import okhttp3.Connection;
import okhttp3.Dispatcher;
import okhttp3.EventListener;
import okhttp3.Handshake;
import okhttp3.HttpUrl;
import okhttp3.Interceptor;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.Response;
import org.jspecify.annotations.Nullable;

/**
 * Turns OkHttp's events into the common record, checks new connections, and passes each event on to the client's previous
 * listener. OkHttp reports no first byte of a response and no interim response: {@code response_start} is the moment at which
 * the final head was read. It reports no bytes of a head and no system calls: these fields are absent.
 *
 * <p>OkHttp 5 races connections on several threads, so a {@link HookQueue} orders the steps. OkHttp 4 has no
 * {@code EventListener.plus}, so each method is passed on here.
 */
final class CallListener extends EventListener {

    /**
     * Makes a listener per call: one for all calls of a client without hooks and without a previous listener. With hooks it is
     * the outermost interceptor, too. OkHttp reports neither the status of a response that a cache or an interceptor made, nor
     * an exception that is no IOException: then it reports callEnd, or no event while a response is open
     * (RealCall.getResponseWithInterceptorChain).
     */
    static final class Factory implements EventListener.Factory, Interceptor {
        private final Hooks hooks;
        private final EventListener.Factory own;
        private final Connections connections;
        private final CallListener untimed = new CallListener(EventListener.NONE, this);

        /** Calls between their start and their first interceptor, as a rule those that the dispatcher queues. */
        private final Map<Call, CallListener> started = Collections.synchronizedMap(new WeakHashMap<>());

        Factory(Hooks hooks, EventListener.Factory own, Connections connections) {
            this.hooks = hooks;
            this.own = own;
            this.connections = connections;
        }

        @Override
        public EventListener create(Call call) {
            EventListener next = own.create(call);
            return next == EventListener.NONE && !hooks.wanted() ? untimed : new CallListener(next, this);
        }

        @Override
        public Response intercept(Chain chain) throws IOException {
            CallListener listener = started.remove(chain.call());
            try {
                Response response = chain.proceed(chain.request());
                if (listener != null) {
                    int code = response.code();
                    listener.step((timed, at) -> timed.answered(code));
                }
                return response;
            } catch (Throwable e) {
                if (listener != null && (listener.responseOpen || !(e instanceof IOException))) {
                    listener.failed(chain.call(), e);
                }
                throw e;
            }
        }
    }

    private interface Step {
        void take(TimedCall call, long at);
    }

    private final EventListener next;
    private final Factory of;
    private @Nullable TimedCall record;
    private @Nullable HookQueue queue;

    /** The attempt was answered or lost: the next step begins another. */
    private boolean over;

    /** The connection of the attempt. */
    private @Nullable Connection held;

    /** The head of a response was read, and its body was not. */
    private boolean responseOpen;

    /** The response's Content-Length, or 1: OkHttp reports 0 bytes for an empty body and for an unread one. */
    private long expected;

    private CallListener(EventListener next, Factory of) {
        this.next = next;
        this.of = of;
    }

    private void step(Step step) {
        TimedCall timed = record;
        HookQueue inOrder = queue;
        if (timed != null && inOrder != null) {
            long at = System.nanoTime();
            inOrder.run(() -> step.take(timed, at));
        }
    }

    /** A step of the attempt, or of the next one: after a redirect, a challenge, a lost connection. */
    private void attemptStep(Step step) {
        step((timed, at) -> {
            attempt(timed, at);
            step.take(timed, at);
        });
    }

    private void attempt(TimedCall timed, long at) {
        if (over) {
            // Where OkHttp keeps the connection for the next attempt, it reports no release.
            timed.connectionReleased(at, true);
            timed.left(at);
            over = false;
        }
        timed.attempt(at);
    }

    /** True if steps are recorded. Checked before a lambda that captures values is allocated. */
    private boolean isTimed() {
        return record != null;
    }

    /** Begins the record: a call may be created long before it is executed, or never be executed. */
    @Override
    public void callStart(Call call) {
        next.callStart(call);
        if (of.hooks.wanted()) {
            Request request = call.request();
            record = TimedCall.start(of.hooks, request.method(), request.url().toString(), request.tag());
            queue = new HookQueue();
            if (isTimed()) {
                of.started.put(call, this);
                step(TimedCall::attempt);
            }
        }
    }

    @Override
    public void callEnd(Call call) {
        if (isTimed()) {
            of.started.remove(call);
        }
        step(TimedCall::completed);
        next.callEnd(call);
    }

    @Override
    public void callFailed(Call call, IOException failure) {
        if (isTimed()) {
            of.started.remove(call);
        }
        failed(call, failure);
        next.callFailed(call, failure);
    }

    private void failed(Call call, Throwable failure) {
        ErrorKind kind = OkHttpErrors.kindOf(failure, call.isCanceled());
        step((timed, at) -> timed.failed(at, kind, failure));
    }

    @Override
    public void canceled(Call call) {
        next.canceled(call);
    }

    /** Unused: the wait starts with the call, and this event may come after the call has begun. */
    @Override
    public void dispatcherQueueStart(Call call, Dispatcher dispatcher) {
        next.dispatcherQueueStart(call, dispatcher);
    }

    /** OkHttp calls this before the call runs (Dispatcher.promoteAndExecute). */
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
        if (isTimed() && !proxies.isEmpty()) {
            attemptStep((timed, at) -> timed.proxy(address(proxies.get(0))));
        }
        next.proxySelectEnd(call, url, proxies);
    }

    @Override
    public void dnsStart(Call call, String domainName) {
        if (isTimed()) {
            attemptStep((timed, at) -> timed.begin(Phase.DNS, at, domainName));
        }
        next.dnsStart(call, domainName);
    }

    @Override
    public void dnsEnd(Call call, String domainName, List<InetAddress> inetAddressList) {
        step((timed, at) -> timed.end(Phase.DNS, at));
        next.dnsEnd(call, domainName, inetAddressList);
    }

    @Override
    public void connectStart(Call call, InetSocketAddress inetSocketAddress, Proxy proxy) {
        if (isTimed()) {
            String through = address(proxy);
            // With a SOCKS proxy this address is the server's.
            String peer = proxy.type() == Proxy.Type.SOCKS ? through : address(inetSocketAddress);
            attemptStep((timed, at) -> {
                timed.proxy(through);
                timed.begin(Phase.CONNECT, at, peer);
            });
        }
        next.connectStart(call, inetSocketAddress, proxy);
    }

    private static @Nullable String address(Proxy proxy) {
        return proxy.address() instanceof InetSocketAddress address ? address(address) : null;
    }

    private static String address(InetSocketAddress address) {
        String host = address.getHostString();
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + address.getPort();
    }

    @Override
    public void secureConnectStart(Call call) {
        step((timed, at) -> {
            timed.end(Phase.CONNECT, at);
            timed.begin(Phase.TLS, at);
        });
        next.secureConnectStart(call);
    }

    @Override
    public void secureConnectEnd(Call call, @Nullable Handshake handshake) {
        step((timed, at) -> timed.end(Phase.TLS, at));
        next.secureConnectEnd(call, handshake);
    }

    @Override
    public void connectEnd(Call call, InetSocketAddress inetSocketAddress, Proxy proxy, @Nullable Protocol protocol) {
        step((timed, at) -> timed.end(Phase.CONNECT, at));
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
        Connections.Usage usage = of.connections.usage(connection);
        if (isTimed()) {
            attemptStep((timed, at) -> acquired(timed, at, connection, usage));
        } else if (of.hooks.wanted()) {
            usage.acquired(System.nanoTime(), null);
        }
        next.connectionAcquired(call, connection);
    }

    private void acquired(TimedCall timed, long at, Connection connection, Connections.Usage usage) {
        held = connection;
        timed.proxy(address(connection.route().proxy()));
        usage.acquired(at, timed);
    }

    @Override
    public void connectionReleased(Call call, Connection connection) {
        if (isTimed()) {
            boolean reusable = !connection.socket().isClosed();
            step((timed, at) -> {
                held = null;
                of.connections.usage(connection).released(at);
                timed.connectionReleased(at, reusable);
            });
        }
        next.connectionReleased(call, connection);
    }

    /** A further attempt on the same connection begins here. */
    @Override
    public void requestHeadersStart(Call call) {
        step((timed, at) -> {
            Connection same = held;
            if (over && same != null) {
                Connections.Usage usage = of.connections.usage(same);
                usage.released(at);
                attempt(timed, at);
                acquired(timed, at, same, usage);
            }
            timed.requestWrite();
            timed.begin(Phase.SEND, at);
        });
        next.requestHeadersStart(call);
    }

    /** A request without a body ends with its head. OkHttp flushes at once. */
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

    /** OkHttp flushes the last bytes at once. */
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

    /** Unused: OkHttp calls this for interim responses, too. It calls responseHeadersEnd for the final one alone. */
    @Override
    public void responseHeadersStart(Call call) {
        next.responseHeadersStart(call);
    }

    @Override
    public void responseHeadersEnd(Call call, Response response) {
        if (isTimed()) {
            int code = response.code();
            boolean bodyless = response.request().method().equals("HEAD") || code == 204 || code == 304;
            responseOpen = true;
            expected = bodyless ? 0 : contentLength(response);
            step((timed, at) -> {
                timed.responseStart(at);
                timed.headersEnd(code);
                if (bodyless) {
                    timed.responseEnd(at, 0);
                }
                over = true;
            });
        }
        next.responseHeadersEnd(call, response);
    }

    private static long contentLength(Response response) {
        try {
            return Long.parseLong(response.header("Content-Length", "1"));
        } catch (NumberFormatException e) {
            return 1;
        }
    }

    @Override
    public void responseBodyStart(Call call) {
        next.responseBodyStart(call);
    }

    /** OkHttp calls this also when a body is closed unread. Fewer bytes than expected mean that the caller gave up the rest. */
    @Override
    public void responseBodyEnd(Call call, long byteCount) {
        responseOpen = false;
        if (isTimed() && byteCount >= expected) {
            step((timed, at) -> timed.responseEnd(at, byteCount));
        }
        next.responseBodyEnd(call, byteCount);
    }

    @Override
    public void responseFailed(Call call, IOException failure) {
        responseOpen = false;
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
