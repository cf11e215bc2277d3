package io.github.onewrite.client.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.Phase;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** One attempt on one connection: sends the request, reads the response, gives the connection back. */
final class Exchange {
    /** How long to wait, after a failed write, for a response that may explain it. */
    private static final long GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    /** How many times within idleReadTimeout the exchange checks whether the socket has taken bytes. */
    private static final int LOOKS = 4;

    /** The parameter may have spaces around its sign, and quotes around its value. */
    private static final Pattern KEEP_ALIVE_TIMEOUT =
            Pattern.compile("(?i)(?:^|[,;])\\s*timeout\\s*=\\s*\"?0*(\\d{1,9})\"?\\s*(?=$|[,;])");

    private final Call call;
    private final Connection connection;
    private final boolean reused;
    private final BodySender sender;
    private boolean awaitingContinue;
    private boolean sent;
    private @Nullable Throwable writeFailure;
    private boolean interim;
    private boolean headersRead;
    private boolean keepAlive;
    private boolean complete;
    private boolean over;
    private long received;

    /** {@link Connection#backlog} at the last check, and how many checks have found it unchanged. */
    private long backlog = Long.MIN_VALUE;

    private int looks;

    Exchange(Call call, Connection connection) {
        this.call = call;
        this.connection = connection;
        this.reused = connection.requests() > 0;
        this.sender = BodySender.of(this);
    }

    void start() {
        PreparedRequest request = request();
        connection.begin(this, request.method().equals(HttpMethod.HEAD), call.timing());
        if (!connection.channel().isActive()) {
            fail(new OnewriteException(ErrorKind.CLOSED, request.target().origin() + " closed the connection"));
            return;
        }
        limitSending();
        try {
            if (request.expectContinue() && sender.hasBody()) {
                awaitingContinue = true;
                limit(settings().continueTimeout());
                sender.sendHeadAlone();
            } else {
                sender.start();
            }
        } catch (OnewriteException e) {
            fail(e);
        } catch (Throwable e) {
            // A publisher of the caller's threw. The caller on the stack may belong to another call.
            fail(Failures.ofBody(e));
        }
    }

    /** The last write returned. */
    void sent() {
        if (over || sent) {
            return;
        }
        sent = true;
        if (!headersRead) {
            limit(settings().responseTimeout());
        }
    }

    /** More of the body was written; idleReadTimeout starts again. */
    void sending() {
        if (!over && !headersRead) {
            limitSending();
        }
    }

    /**
     * A large write, such as a file region, a large chunk or its TLS records, progresses without a callback. So the timeout
     * is divided into parts, and after each the backlog is checked.
     */
    private void limitSending() {
        backlog = Long.MIN_VALUE;
        looks = 0;
        limit(lookNanos());
    }

    private long lookNanos() {
        long whole = settings().idleReadTimeout();
        return whole == 0 ? 0 : Math.max(whole / LOOKS, 1);
    }

    /** Whether the socket has taken nothing for as long as it may. */
    private boolean sendsNothing() {
        long left = connection.backlog();
        if (left != backlog) {
            backlog = left;
            looks = 0;
        }
        return looks++ >= LOOKS;
    }

    /** A write failed. The server may have sent a response before it closed: wait for that for a short time. */
    void sendFailed(Throwable cause) {
        if (over || sent || headersRead) {
            return;
        }
        if (cause instanceof OnewriteException) {
            fail(Failures.onConnection(cause, origin()));
        } else if (writeFailure == null) {
            writeFailure = cause;
            limit(GRACE_NANOS);
        }
    }

    void writable() {
        if (!over) {
            sender.writable();
        }
    }

    void read(HttpObject part) {
        if (over) {
            ReferenceCountUtil.release(part);
            return;
        }
        try {
            if (part.decoderResult().isFailure()) {
                fail(Failures.badResponse(part.decoderResult().cause(), origin()));
                return;
            }
            if (part instanceof HttpResponse response) {
                head(response);
            }
            if (part instanceof HttpContent content && !over) {
                content(content);
            }
        } finally {
            ReferenceCountUtil.release(part);
        }
    }

    private void head(HttpResponse response) {
        int status = response.status().code();
        if (status < 200) {
            interim(status);
            return;
        }
        interim = false;
        headersRead = true;
        HttpHeaders headers = response.headers();
        if (headers.size() > settings().maxHeaders()) {
            refuse("sent " + headers.size() + " header fields; the limit is maxHeaders, "
                    + settings().maxHeaders());
            return;
        }
        if (!codingIsKnown(response)) {
            refuse("sent a transfer coding that was not asked for: "
                    + headers.getAll(HttpHeaderNames.TRANSFER_ENCODING));
            return;
        }
        keepAlive = HttpUtil.isKeepAlive(response) && !request().closes();
        limitIdle(headers);
        if (!sent && status >= 300) {
            // A server that refuses early will not read the rest of the body.
            sender.cancel();
        }
        limit(settings().idleReadTimeout());
        call.sink().head(this, status, headers);
    }

    /**
     * A client that sends no TE may only get "chunked", once, and only in HTTP/1.1 (RFC 9112, 6.1). The decoder accepts any
     * list that contains "chunked", and with any other coding reads until the connection is closed.
     */
    private static boolean codingIsKnown(HttpResponse response) {
        String coding = response.headers().get(HttpHeaderNames.TRANSFER_ENCODING);
        return coding == null
                || (HttpHeaderValues.CHUNKED.contentEqualsIgnoreCase(coding)
                        && response.headers()
                                        .getAll(HttpHeaderNames.TRANSFER_ENCODING)
                                        .size()
                                == 1
                        && response.protocolVersion().equals(HttpVersion.HTTP_1_1));
    }

    private void interim(int status) {
        interim = true;
        if (status == 101) {
            fail(new OnewriteException(ErrorKind.PROTOCOL, origin() + " switched protocols, which was not asked for"));
        } else if (status == 100 && awaitingContinue) {
            sendAwaitedBody();
        }
    }

    private void sendAwaitedBody() {
        awaitingContinue = false;
        limitSending();
        try {
            sender.sendBody();
        } catch (OnewriteException e) {
            fail(e);
        } catch (Throwable e) {
            fail(Failures.ofBody(e));
        }
    }

    private void content(HttpContent content) {
        if (!interim) {
            received += content.content().readableBytes();
            OnewriteException refused = call.sink().content(content.content());
            if (refused != null) {
                fail(refused);
                return;
            }
            if (content instanceof LastHttpContent) {
                complete = true;
            } else {
                limit(call.sink().wantsMore() ? settings().idleReadTimeout() : 0);
            }
        }
    }

    /**
     * All bytes read are decoded. A complete response is passed on only now: with extra bytes behind it the connection must
     * not be reused.
     */
    void readComplete() {
        if (complete && !over) {
            finish();
        }
    }

    private void finish() {
        over = true;
        if (!sent) {
            sender.cancel();
        }
        boolean reusable = keepAlive
                && sent
                && !connection.hasLeftover()
                && connection.channel().isActive();
        try {
            giveBack(reusable);
        } finally {
            call.completed();
        }
    }

    private void giveBack(boolean reusable) {
        call.sink().detach();
        connection.release(reusable);
    }

    /** The channel is closed. */
    void closed() {
        if (over) {
            return;
        }
        if (complete) {
            finish();
            return;
        }
        if (writeFailure != null) {
            fail(Failures.onConnection(writeFailure, origin()));
            return;
        }
        String when = headersRead
                ? "in the middle of the response, after " + received + " bytes of its body"
                : sent ? "without a response" : "while the request was being sent";
        fail(new OnewriteException(ErrorKind.CLOSED, origin() + " closed the connection " + when));
    }

    /** The response breaks a rule that the decoder does not know. */
    void refuse(String what) {
        if (!over) {
            fail(new OnewriteException(ErrorKind.PROTOCOL, origin() + " " + what));
        }
    }

    /** Something threw in the channel. */
    void broken(Throwable cause) {
        if (!over) {
            fail(Failures.onConnection(cause, origin()));
        }
    }

    /** The limit set last has run out. */
    void overdue() {
        if (over) {
            return;
        }
        if (awaitingContinue) {
            // A server need not answer the expectation (RFC 9110, 10.1.1).
            sendAwaitedBody();
        } else if (writeFailure != null) {
            fail(Failures.onConnection(writeFailure, origin()));
        } else if (!sent && !sendsNothing()) {
            limit(lookNanos());
        } else {
            String what = !sent
                    ? "took none of the request's body for "
                            + TimeUnit.NANOSECONDS.toMillis(settings().idleReadTimeout()) + " ms (idleReadTimeout)"
                    : headersRead
                            ? "sent nothing more of its response for "
                                    + TimeUnit.NANOSECONDS.toMillis(settings().idleReadTimeout())
                                    + " ms (idleReadTimeout)"
                            : "sent no complete response head in "
                                    + TimeUnit.NANOSECONDS.toMillis(settings().responseTimeout())
                                    + " ms (responseTimeout)";
            fail(new OnewriteException(ErrorKind.TIMEOUT, origin() + " " + what));
        }
    }

    /** The phase under way, for the error. */
    Phase phase() {
        return headersRead ? Phase.RECEIVE : sent ? Phase.WAIT : Phase.SEND;
    }

    /** Ends the exchange and its connection without reporting it to the call. */
    void giveUp() {
        if (!over) {
            over = true;
            sender.cancel();
            giveBack(false);
        }
    }

    private void fail(OnewriteException why) {
        why.in(phase());
        giveUp();
        call.exchangeFailed(why, reused, headersRead);
    }

    private void limit(long nanos) {
        connection.deadline(nanos == 0 ? 0 : settings().time().nanoTime() + nanos);
    }

    /** Keep-Alive: timeout=5 (RFC 2068, 19.7.1.1): leave a second before the server does. */
    private void limitIdle(HttpHeaders headers) {
        if (!headers.contains("keep-alive")) {
            return; // the usual case, without a list
        }
        for (String field : headers.getAll("keep-alive")) {
            Matcher timeout = KEEP_ALIVE_TIMEOUT.matcher(field);
            if (timeout.find()) {
                long seconds = Long.parseLong(timeout.group(1));
                connection.limitIdle(Math.max(TimeUnit.SECONDS.toNanos(seconds - 1), 1));
            }
        }
    }

    Connection connection() {
        return connection;
    }

    PreparedRequest request() {
        return call.request();
    }

    ClientSettings settings() {
        return call.settings();
    }

    private Origin origin() {
        return request().target().origin();
    }

    /** The exchange wants to read on; used while the caller's demand, not the socket, sets the pace. */
    void readMore() {
        if (!over) {
            limit(settings().idleReadTimeout());
            connection.channel().read();
        }
    }

    void setAutoRead(boolean on) {
        connection.channel().config().setAutoRead(on);
    }

    void abandon() {
        call.abandoned();
    }
}
