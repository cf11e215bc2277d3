package io.github.onewrite.okhttp;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.internal.Hooks;
import io.github.onewrite.internal.Moment;
import io.github.onewrite.internal.Stamps;
import java.io.IOException;
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
 * Makes the records of a call from OkHttp's events: one for each request that is sent, or that failed before it could be. A
 * response that a cache or an interceptor makes is none.
 *
 * <p>OkHttp reports these steps on one thread at a time, apart from connects that it races: those report their start and
 * their failure on threads of their own. It reports the head of a response when it was read, and no bytes of a head.
 */
final class CallListener extends ForwardingListener {

    /** Makes a listener for each call of a client that has hooks. */
    static final class Factory implements EventListener.Factory {
        private final EventListener.Factory own;
        private final Hooks hooks;
        private final Connections connections = new Connections();

        /** @param own what the client has */
        Factory(EventListener.Factory own, Hooks hooks) {
            this.own = own;
            this.hooks = hooks;
        }

        @Override
        public EventListener create(Call call) {
            EventListener next = own.create(call);
            return Hooks.running() ? next : new CallListener(next, this);
        }
    }

    private final Factory of;

    /** Null before the call starts, and after it. */
    private @Nullable Stamps record;

    /** The request was answered or lost: the next step is that of another one. */
    private boolean over;

    /** The error of the connection, after which OkHttp may try again. */
    private @Nullable IOException failure;

    private Connections.@Nullable Usage connection;

    /** Where the response redirects to. */
    private @Nullable HttpUrl location;

    /** How long the body of the response is to be, or -1. */
    private long expected;

    private CallListener(EventListener next, Factory of) {
        super(next);
        this.of = of;
    }

    private void begin(long at, String method, String url, int resend) {
        Stamps begun = new Stamps(at);
        begun.method = method;
        begun.target = url;
        begun.resend = resend;
        record = begun;
    }

    /** The record of the request that this step belongs to, which is another one where the last one is over. */
    private @Nullable Stamps step(long at) {
        Stamps last = record;
        if (last != null && over) {
            String url = location == null ? last.target : location.toString();
            location = null;
            end(last, at);
            begin(at, last.method, url, last.resend + 1);
        }
        return record;
    }

    private void stamp(Moment moment) {
        Stamps current = record;
        if (current != null) {
            current.stamp(moment, System.nanoTime());
        }
    }

    /** The request is over, and its call goes on, or has ended without an error. */
    private void end(Stamps last, long at) {
        Connections.Usage kept = connection;
        if (kept != null) {
            // OkHttp keeps the connection for the next request without a release.
            kept.free(at);
            last.stamp(Moment.CONNECTION_RELEASED, at);
        }
        IOException lost = failure;
        over = false;
        failure = null;
        if (lost != null) {
            last.failed(OkHttpErrors.kindOf(lost, false), at);
        } else if (last.at(Moment.HEADERS_END) != 0) {
            last.end(at);
        } else {
            // The program's own code stopped the request, or has made a response of its own after the look-up failed.
            boolean unresolved = last.at(Moment.DNS_START) != 0 && last.at(Moment.DNS_END) == 0;
            last.failed(unresolved ? ErrorKind.DNS : ErrorKind.OTHER, at);
        }
        of.hooks.deliver(last);
    }

    /** A call may be made long before it is executed, or never be. */
    @Override
    public void callStart(Call call) {
        super.callStart(call);
        begin(System.nanoTime(), call.request().method(), call.request().url().toString(), 0);
    }

    /** OkHttp calls this before the call runs (Dispatcher.promoteAndExecute), and only for one that had to wait. */
    @Override
    public void dispatcherQueueEnd(Call call, Dispatcher dispatcher) {
        Stamps current = record;
        if (current != null) {
            current.stamp(Moment.QUEUE_START, current.startedAt);
            current.stamp(Moment.QUEUE_END, System.nanoTime());
        }
        super.dispatcherQueueEnd(call, dispatcher);
    }

    @Override
    public void proxySelectEnd(Call call, HttpUrl url, List<Proxy> proxies) {
        Stamps current = step(System.nanoTime());
        if (current != null && !proxies.isEmpty()) {
            current.proxy = address(proxies.get(0));
        }
        super.proxySelectEnd(call, url, proxies);
    }

    private static @Nullable String address(Proxy proxy) {
        if (!(proxy.address() instanceof InetSocketAddress address)) {
            return null;
        }
        String host = address.getHostString();
        return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + address.getPort();
    }

    @Override
    public void dnsStart(Call call, String name) {
        long at = System.nanoTime();
        Stamps current = step(at);
        if (current != null) {
            current.stamp(Moment.DNS_START, at);
            current.clear(Moment.DNS_END);
        }
        super.dnsStart(call, name);
    }

    @Override
    public void dnsEnd(Call call, String name, List<InetAddress> addresses) {
        stamp(Moment.DNS_END);
        super.dnsEnd(call, name, addresses);
    }

    /** The connect of a request begins with the first address that is tried. */
    @Override
    public void connectStart(Call call, InetSocketAddress address, Proxy proxy) {
        long at = System.nanoTime();
        Stamps current = step(at);
        if (current != null) {
            current.proxy = address(proxy);
            if (current.at(Moment.CONNECT_START) == 0) {
                current.stamp(Moment.CONNECT_START, at);
            } else if (failure != null) {
                current.clear(Moment.CONNECT_END);
                current.clear(Moment.TLS_START);
            }
        }
        super.connectStart(call, address, proxy);
    }

    @Override
    public void secureConnectStart(Call call) {
        stamp(Moment.CONNECT_END);
        stamp(Moment.TLS_START);
        super.secureConnectStart(call);
    }

    @Override
    public void secureConnectEnd(Call call, @Nullable Handshake handshake) {
        stamp(Moment.TLS_END);
        super.secureConnectEnd(call, handshake);
    }

    @Override
    public void connectEnd(Call call, InetSocketAddress address, Proxy proxy, @Nullable Protocol protocol) {
        Stamps current = record;
        if (current != null && current.at(Moment.CONNECT_END) == 0) {
            current.stamp(Moment.CONNECT_END, System.nanoTime());
        }
        super.connectEnd(call, address, proxy, protocol);
    }

    @Override
    public void connectFailed(
            Call call, InetSocketAddress address, Proxy proxy, @Nullable Protocol protocol, IOException thrown) {
        if (connection == null) {
            failure = thrown;
        }
        super.connectFailed(call, address, proxy, protocol, thrown);
    }

    @Override
    public void connectionAcquired(Call call, Connection acquired) {
        long at = System.nanoTime();
        Stamps current = step(at);
        if (current != null) {
            failure = null;
            connection = of.connections.usage(acquired);
            current.proxy = address(acquired.route().proxy());
            current.stamp(Moment.CONNECTION_ACQUIRED, at);
        }
        super.connectionAcquired(call, acquired);
    }

    /** OkHttp 4 acquires a connection before it finds that the server has closed it. */
    @Override
    public void connectionReleased(Call call, Connection released) {
        Stamps current = record;
        Connections.Usage left = connection;
        if (current != null && left != null) {
            long at = System.nanoTime();
            connection = null;
            if (current.at(Moment.REQUEST_START) == 0) {
                current.clear(Moment.CONNECTION_ACQUIRED);
            } else {
                left.free(at);
                current.stamp(Moment.CONNECTION_RELEASED, at);
                over = true;
            }
        }
        super.connectionReleased(call, released);
    }

    @Override
    public void requestHeadersStart(Call call) {
        long at = System.nanoTime();
        Stamps current = step(at);
        Connections.Usage used = connection;
        if (current != null && used != null) {
            if (current.at(Moment.CONNECTION_ACQUIRED) == 0) {
                current.stamp(Moment.CONNECTION_ACQUIRED, at);
            }
            used.carry(current);
            current.stamp(Moment.REQUEST_START, at);
        }
        super.requestHeadersStart(call);
    }

    /** A request without a body ends with its head. OkHttp flushes at once. */
    @Override
    public void requestHeadersEnd(Call call, Request request) {
        Stamps current = record;
        if (current != null) {
            current.method = request.method();
            current.target = request.url().toString();
            if (request.body() == null) {
                current.stamp(Moment.REQUEST_END, System.nanoTime());
            }
        }
        super.requestHeadersEnd(call, request);
    }

    @Override
    public void requestBodyEnd(Call call, long byteCount) {
        stamp(Moment.REQUEST_END);
        super.requestBodyEnd(call, byteCount);
    }

    /** The server may have answered all the same. */
    @Override
    public void requestFailed(Call call, IOException thrown) {
        lose(thrown);
        super.requestFailed(call, thrown);
    }

    private void lose(IOException thrown) {
        failure = thrown;
        over = true;
    }

    /** OkHttp does not call this for interim responses. */
    @Override
    public void responseHeadersEnd(Call call, Response response) {
        Stamps current = record;
        if (current != null) {
            long at = System.nanoTime();
            current.stamp(Moment.RESPONSE_START, at);
            current.stamp(Moment.HEADERS_END, at);
            current.status = response.code();
            over = false;
            failure = null;
            expected = expected(response);
            String to = response.isRedirect() ? response.header("Location") : null;
            location = to == null ? null : response.request().url().resolve(to);
        }
        super.responseHeadersEnd(call, response);
    }

    private static long expected(Response response) {
        String length = response.header("Content-Length");
        if (length == null || response.request().method().equals("HEAD")) {
            return -1;
        }
        try {
            return Long.parseLong(length);
        } catch (NumberFormatException e) {
            return -1;
        }
    }

    /** OkHttp calls this also when a body is closed unread. Fewer bytes than expected mean that the program gave up the rest. */
    @Override
    public void responseBodyEnd(Call call, long byteCount) {
        Stamps current = record;
        if (current != null) {
            over = true;
            current.bytesReceived = byteCount;
            if (byteCount >= expected) {
                current.stamp(Moment.RESPONSE_END, System.nanoTime());
            }
        }
        super.responseBodyEnd(call, byteCount);
    }

    @Override
    public void responseFailed(Call call, IOException thrown) {
        lose(thrown);
        super.responseFailed(call, thrown);
    }

    @Override
    public void callEnd(Call call) {
        super.callEnd(call);
        Stamps last = record;
        record = null;
        if (last != null && isOnTheWire(last)) {
            end(last, System.nanoTime());
        }
    }

    private static boolean isOnTheWire(Stamps last) {
        return last.at(Moment.DNS_START) != 0
                || last.at(Moment.CONNECT_START) != 0
                || last.at(Moment.CONNECTION_ACQUIRED) != 0;
    }

    @Override
    public void callFailed(Call call, IOException thrown) {
        super.callFailed(call, thrown);
        Stamps last = record;
        record = null;
        if (last != null) {
            last.failed(OkHttpErrors.kindOf(thrown, call.isCanceled()), System.nanoTime());
            of.hooks.deliver(last);
        }
    }
}
