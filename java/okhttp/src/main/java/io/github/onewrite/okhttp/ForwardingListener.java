package io.github.onewrite.okhttp;

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

/** Passes all events on to the listener that the client has itself. OkHttp 4 has no {@code EventListener.plus}. */
abstract class ForwardingListener extends EventListener {
    private final EventListener next;

    ForwardingListener(EventListener next) {
        this.next = next;
    }

    @Override
    public void callStart(Call call) {
        next.callStart(call);
    }

    @Override
    public void callEnd(Call call) {
        next.callEnd(call);
    }

    @Override
    public void callFailed(Call call, IOException failure) {
        next.callFailed(call, failure);
    }

    @Override
    public void canceled(Call call) {
        next.canceled(call);
    }

    @Override
    public void dispatcherQueueStart(Call call, Dispatcher dispatcher) {
        next.dispatcherQueueStart(call, dispatcher);
    }

    @Override
    public void dispatcherQueueEnd(Call call, Dispatcher dispatcher) {
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
    public void dnsStart(Call call, String name) {
        next.dnsStart(call, name);
    }

    @Override
    public void dnsEnd(Call call, String name, List<InetAddress> addresses) {
        next.dnsEnd(call, name, addresses);
    }

    @Override
    public void connectStart(Call call, InetSocketAddress address, Proxy proxy) {
        next.connectStart(call, address, proxy);
    }

    @Override
    public void secureConnectStart(Call call) {
        next.secureConnectStart(call);
    }

    @Override
    public void secureConnectEnd(Call call, @Nullable Handshake handshake) {
        next.secureConnectEnd(call, handshake);
    }

    @Override
    public void connectEnd(Call call, InetSocketAddress address, Proxy proxy, @Nullable Protocol protocol) {
        next.connectEnd(call, address, proxy, protocol);
    }

    @Override
    public void connectFailed(
            Call call, InetSocketAddress address, Proxy proxy, @Nullable Protocol protocol, IOException failure) {
        next.connectFailed(call, address, proxy, protocol, failure);
    }

    @Override
    public void connectionAcquired(Call call, Connection connection) {
        next.connectionAcquired(call, connection);
    }

    @Override
    public void connectionReleased(Call call, Connection connection) {
        next.connectionReleased(call, connection);
    }

    @Override
    public void requestHeadersStart(Call call) {
        next.requestHeadersStart(call);
    }

    @Override
    public void requestHeadersEnd(Call call, Request request) {
        next.requestHeadersEnd(call, request);
    }

    @Override
    public void requestBodyStart(Call call) {
        next.requestBodyStart(call);
    }

    @Override
    public void requestBodyEnd(Call call, long byteCount) {
        next.requestBodyEnd(call, byteCount);
    }

    @Override
    public void requestFailed(Call call, IOException failure) {
        next.requestFailed(call, failure);
    }

    @Override
    public void responseHeadersStart(Call call) {
        next.responseHeadersStart(call);
    }

    @Override
    public void responseHeadersEnd(Call call, Response response) {
        next.responseHeadersEnd(call, response);
    }

    @Override
    public void responseBodyStart(Call call) {
        next.responseBodyStart(call);
    }

    @Override
    public void responseBodyEnd(Call call, long byteCount) {
        next.responseBodyEnd(call, byteCount);
    }

    @Override
    public void responseFailed(Call call, IOException failure) {
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
    public void retryDecision(Call call, IOException failure, boolean retry) {
        next.retryDecision(call, failure, retry);
    }

    @Override
    public void followUpDecision(Call call, Response networkResponse, @Nullable Request nextRequest) {
        next.followUpDecision(call, networkResponse, nextRequest);
    }
}
