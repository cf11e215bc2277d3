package io.github.onewrite.ahc;

import io.github.onewrite.internal.TimedCall;
import io.github.onewrite.netty.OnewriteNetty;
import io.netty.channel.Channel;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.util.NetUtil;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.util.List;
import javax.net.ssl.SSLSession;
import org.asynchttpclient.AsyncHandler;
import org.asynchttpclient.HttpResponseBodyPart;
import org.asynchttpclient.HttpResponseStatus;
import org.asynchttpclient.handler.ProgressAsyncHandler;
import org.asynchttpclient.netty.request.NettyRequest;
import org.jspecify.annotations.Nullable;

/**
 * Times a call by the client's callbacks, and passes each on. A failed connect or lookup leaves its phase open: the client
 * may try the next address, or the error that follows ends the phase, and names it.
 */
final class TimedHandler<T> implements ProgressAsyncHandler<T> {
    private final AsyncHandler<T> next;
    private final OnewriteNetty.Call call;
    private final ChannelSetup channels;
    private final boolean joins;

    /** The attempt's channel. Callbacks of one attempt are sequential, but may come from several threads. */
    private volatile @Nullable Channel channel;

    private volatile boolean sent;

    TimedHandler(AsyncHandler<T> next, OnewriteNetty.Call call, ChannelSetup channels, boolean joins) {
        this.joins = joins;
        this.next = next;
        this.call = call;
        this.channels = channels;
    }

    /** After a request was sent, further steps belong to the next attempt: a redirect, a challenge or a retry. */
    private void attempt() {
        if (sent) {
            leave(true);
            call.step(TimedCall::left);
        }
        call.step(TimedCall::attempt);
    }

    private void leave(boolean reusable) {
        sent = false;
        released(reusable);
    }

    private void released(boolean reusable) {
        call.step((timed, at) -> timed.connectionReleased(at, reusable));
    }

    @Override
    public void onConnectionPoolAttempt() {
        attempt();
        next.onConnectionPoolAttempt();
    }

    @Override
    public void onConnectionPooled(Channel connection) {
        attempt();
        channel = connection;
        next.onConnectionPooled(connection);
    }

    @Override
    public void onHostnameResolutionAttempt(String name) {
        attempt();
        if (!NetUtil.isValidIpV4Address(name) && !NetUtil.isValidIpV6Address(name)) {
            call.step((timed, at) -> timed.dnsStart(at, name));
        }
        next.onHostnameResolutionAttempt(name);
    }

    @Override
    public void onHostnameResolutionSuccess(String name, List<InetSocketAddress> addresses) {
        call.step(TimedCall::dnsEnd);
        next.onHostnameResolutionSuccess(name, addresses);
    }

    @Override
    public void onHostnameResolutionFailure(String name, Throwable cause) {
        next.onHostnameResolutionFailure(name, cause);
    }

    @Override
    public void onTcpConnectAttempt(InetSocketAddress remote) {
        attempt();
        call.step(TimedCall::connectStart);
        next.onTcpConnectAttempt(remote);
    }

    /** The connect phase stays open, because a tunnel may follow; the next step ends it. */
    @Override
    public void onTcpConnectSuccess(InetSocketAddress remote, Channel connection) {
        channel = connection;
        next.onTcpConnectSuccess(remote, connection);
    }

    @Override
    public void onTcpConnectFailure(InetSocketAddress remote, Throwable cause) {
        next.onTcpConnectFailure(remote, cause);
    }

    @Override
    public void onTlsHandshakeAttempt() {
        call.step(TimedCall::connectEnd);
        call.step(TimedCall::tlsStart);
        next.onTlsHandshakeAttempt();
    }

    @Override
    public void onTlsHandshakeSuccess(SSLSession session) {
        call.step(TimedCall::tlsEnd);
        next.onTlsHandshakeSuccess(session);
    }

    @Override
    public void onTlsHandshakeFailure(Throwable cause) {
        next.onTlsHandshakeFailure(cause);
    }

    @Override
    public void onRequestSend(NettyRequest request) {
        Channel on = channel;
        if (on != null) {
            if (request.getHttpRequest().method().equals(HttpMethod.CONNECT)) {
                channels.tunnel(on, call);
            } else {
                call.step(TimedCall::connectEnd);
                sent = true;
                channels.serve(on, call, joins);
            }
        }
        next.onRequestSend(request);
    }

    @Override
    public void onRetry() {
        leave(false);
        call.step(TimedCall::left);
        next.onRetry();
    }

    @Override
    public void onConnectionOffer(Channel connection) {
        // After a redirect to another host the previous attempt's connection is offered while the next attempt runs.
        if (sent && connection == channel) {
            released(true);
        }
        next.onConnectionOffer(connection);
    }

    @Override
    public State onStatusReceived(HttpResponseStatus status) throws Exception {
        return next.onStatusReceived(status);
    }

    @Override
    public State onHeadersReceived(HttpHeaders headers) throws Exception {
        return next.onHeadersReceived(headers);
    }

    @Override
    public State onBodyPartReceived(HttpResponseBodyPart part) throws Exception {
        return next.onBodyPartReceived(part);
    }

    @Override
    public State onTrailingHeadersReceived(HttpHeaders headers) throws Exception {
        return next.onTrailingHeadersReceived(headers);
    }

    @Override
    public @Nullable T onCompleted() throws Exception {
        finish();
        call.completed();
        return next.onCompleted();
    }

    @Override
    public void onThrowable(Throwable thrown) {
        finish();
        // The client wraps all errors before the request in a ConnectException.
        Throwable cause = thrown.getCause();
        call.failed(thrown instanceof ConnectException && cause != null ? cause : thrown, AhcErrors::kindOf);
        next.onThrowable(thrown);
    }

    private void finish() {
        if (sent) {
            leave(false);
        }
    }

    @Override
    public State onHeadersWritten() {
        return next instanceof ProgressAsyncHandler<T> progress ? progress.onHeadersWritten() : State.CONTINUE;
    }

    @Override
    public State onContentWritten() {
        return next instanceof ProgressAsyncHandler<T> progress ? progress.onContentWritten() : State.CONTINUE;
    }

    @Override
    public State onContentWriteProgress(long amount, long current, long total) {
        return next instanceof ProgressAsyncHandler<T> progress
                ? progress.onContentWriteProgress(amount, current, total)
                : State.CONTINUE;
    }
}
