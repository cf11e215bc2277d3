package io.github.onewrite.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpRequestEncoder;
import io.netty.handler.codec.http.HttpResponseDecoder;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is flushed together, seen below the codec. Time stands still but where a test moves it. */
class CoalesceHandlerTest {
    /** Notes the bytes of each flush. */
    private static final class Flushes extends ChannelOutboundHandlerAdapter {
        private final List<Integer> sizes = new ArrayList<>();
        private final StringBuilder text = new StringBuilder();
        private int size;

        @Override
        public void write(ChannelHandlerContext ctx, Object message, io.netty.channel.ChannelPromise promise) {
            ByteBuf bytes = (ByteBuf) message;
            size += bytes.readableBytes();
            text.append(bytes.toString(StandardCharsets.ISO_8859_1));
            ctx.write(message, promise);
        }

        @Override
        public void flush(ChannelHandlerContext ctx) {
            if (size > 0) {
                sizes.add(size);
                size = 0;
            }
            ctx.flush();
        }
    }

    private final Flushes flushes = new Flushes();
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private long now;

    private void pipeline(boolean answersHeldWrites) {
        channel.freezeTime();
        NettyConnection connection =
                NettyConnection.attach(channel, null, null, any -> null, NettyConnection.Ends.BY_CLIENT);
        BodyStart start = new BodyStart(16_384);
        channel.pipeline()
                .addLast(
                        flushes,
                        new ByteHandler(connection, start, false),
                        new HttpClientCodec(),
                        new CoalesceHandler(start, 16_384, answersHeldWrites, () -> true, () -> now));
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    private static HttpRequest head(String name, Object value) {
        HttpRequest head = new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, "/");
        head.headers().set(name, value);
        return head;
    }

    private static ByteBuf bytes(int size) {
        return Unpooled.wrappedBuffer(new byte[size]);
    }

    private int flushed() {
        return flushes.sizes.size();
    }

    private void later(int micros) {
        now += TimeUnit.MICROSECONDS.toNanos(micros);
        channel.advanceTimeBy(micros, TimeUnit.MICROSECONDS);
        channel.runPendingTasks();
    }

    @Test
    void headAndBodyLeaveTogether() {
        pipeline(false);
        channel.writeAndFlush(head("content-length", 200));
        later(0);
        assertEquals(0, flushed(), "the head waits");
        channel.writeAndFlush(new DefaultHttpContent(bytes(100)));
        channel.writeAndFlush(new DefaultLastHttpContent(bytes(100)));
        assertEquals(1, flushed());
        assertTrue(flushes.text.toString().endsWith("\r\n\r\n" + "\0".repeat(200)));
    }

    @Test
    void anEncoderAndADecoderAreACodec() {
        channel.pipeline().addLast(flushes, new HttpResponseDecoder(), new HttpRequestEncoder());
        assertTrue(NettyConnection.attach(channel, null, null, any -> null, NettyConnection.Ends.BY_CLIENT)
                .place(OnewriteNetty.create().onTiming(timing -> {}), false));
        List<String> names = channel.pipeline().names();
        assertTrue(names.indexOf(ByteHandler.NAME) < names.indexOf("HttpResponseDecoder#0"), names::toString);
        assertTrue(names.indexOf(CoalesceHandler.NAME) > names.indexOf("HttpRequestEncoder#0"), names::toString);
    }

    @Test
    void aBodyThatIsLateIsNotWaitedFor() {
        pipeline(false);
        channel.writeAndFlush(head("transfer-encoding", "chunked"));
        later(1_900);
        assertEquals(0, flushed());
        later(200);
        assertEquals(1, flushed());
        channel.writeAndFlush(new DefaultHttpContent(bytes(10)));
        later(0);
        assertEquals(2, flushed(), "what comes later is flushed at the end of each turn");
        channel.writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT);
        assertEquals(3, flushed());
    }

    @Test
    void aHeadThatAsksForLeaveGoesAlone() {
        pipeline(false);
        channel.writeAndFlush(head("expect", "100-continue"));
        assertEquals(1, flushed());
    }

    @ParameterizedTest
    @ValueSource(ints = {16_384, 16_385})
    void noMoreIsHeldThanTheLimit(int size) {
        pipeline(false);
        channel.writeAndFlush(head("transfer-encoding", "chunked"));
        channel.writeAndFlush(new DefaultHttpContent(bytes(size)));
        assertEquals(size > 16_384 ? 1 : 0, flushed());
    }

    @Test
    void aRequestThatIsOneMessageIsPassedOn() {
        pipeline(false);
        channel.writeAndFlush(new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/"));
        assertEquals(1, flushed());
        assertEquals("GET / HTTP/1.1\r\n\r\n", flushes.text.toString());
    }

    /** The transport gathers what fits its send buffer: so the first piece of a large body is small. */
    @Test
    void aLargeContentIsCut() {
        List<Integer> written = new ArrayList<>();
        channel.pipeline().addLast(new ChannelOutboundHandlerAdapter() {
            @Override
            public void write(ChannelHandlerContext ctx, Object message, io.netty.channel.ChannelPromise promise) {
                written.add(((ByteBuf) message).readableBytes());
                ctx.write(message, promise);
            }
        });
        pipeline(false);
        HttpRequest head = head("content-length", 20_000);
        channel.write(head);
        channel.writeAndFlush(new DefaultHttpContent(bytes(20_000)));
        channel.writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT);
        assertEquals(BodyStart.SURELY_GATHERED, written.get(0) + written.get(1));
        assertEquals(20_000, written.get(1) + written.get(2));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void heldWritesAreAnsweredWhereTheClientWaitsForThem(boolean answers) {
        pipeline(answers);
        ChannelFuture written = channel.write(head("content-length", 3));
        channel.runPendingTasks();
        assertEquals(answers, written.isSuccess());
        channel.writeAndFlush(new DefaultLastHttpContent(bytes(3)));
        assertTrue(written.isSuccess());
        assertEquals(1, flushed());
    }

    /** Index, position and reference count of the caller's buffer are as Netty alone leaves them. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theCallersBufferStaysAsItWas(boolean whole) {
        byte[] content = new byte[20_000];
        new java.util.Random(1).nextBytes(content);
        ByteBuf body = Unpooled.wrappedBuffer(content).skipBytes(5);
        pipeline(false);
        for (int i = 0; i < 3; i++) {
            flushes.text.setLength(0);
            body.retain();
            if (whole) {
                HttpRequest request = new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, "/", body);
                request.headers().set("content-length", body.readableBytes());
                channel.writeAndFlush(request);
            } else {
                channel.write(head("content-length", body.readableBytes()));
                channel.writeAndFlush(new DefaultLastHttpContent(body));
            }
            channel.outboundMessages().forEach(io.netty.util.ReferenceCountUtil::release);
            channel.outboundMessages().clear();
            assertEquals(5, body.readerIndex());
            assertEquals(1, body.refCnt());
            String sent = flushes.text.toString();
            assertEquals(
                    new String(content, 5, content.length - 5, StandardCharsets.ISO_8859_1),
                    sent.substring(sent.indexOf("\r\n\r\n") + 4));
        }
        body.release();
    }

    /** The handler leaves its pipeline, or the channel its loop. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatAHandlerHoldsLeavesWithIt(boolean loop) {
        pipeline(false);
        channel.writeAndFlush(head("content-length", 200));
        assertEquals(0, flushed());
        if (loop) {
            channel.deregister();
        } else {
            channel.pipeline().remove(CoalesceHandler.class);
        }
        assertEquals(1, flushed());
    }

    /** As with Netty alone: the rest of the request would leave without it. */
    @Test
    void aWriteThatWasFlushedCannotBeCancelled() {
        pipeline(false);
        ChannelFuture head = channel.writeAndFlush(head("content-length", 200));
        assertFalse(head.cancel(false));
        channel.write(new DefaultHttpContent(bytes(50)));
        ChannelFuture content = channel.write(new DefaultHttpContent(bytes(50)));
        channel.flush();
        assertFalse(content.cancel(false));
        channel.writeAndFlush(new DefaultLastHttpContent(bytes(100)));
        assertTrue(flushes.text.toString().startsWith("POST / HTTP/1.1\r\n"));
        assertTrue(flushes.text.toString().endsWith("\r\n\r\n" + "\0".repeat(200)));
        assertTrue(head.isSuccess() && content.isSuccess());
    }

    @Test
    void whatWasFlushedIsSentBeforeTheChannelCloses() {
        pipeline(false);
        ChannelFuture written = channel.writeAndFlush(head("content-length", 200));
        assertEquals(0, flushed());
        channel.close();
        assertEquals(1, flushed());
        assertTrue(written.isSuccess());
    }

    @Test
    void whatWasFlushedIsSentThoughTheEndIsNot() {
        pipeline(false);
        channel.writeAndFlush(head("content-length", 3));
        channel.write(new DefaultLastHttpContent(bytes(3)));
        later(2_100);
        assertEquals(1, flushed());
    }

    /** The codec refuses a second head before the end of the first request: no piece of it may be sent. */
    @Test
    void aRequestThatTheCodecRefusesIsNotCut() {
        pipeline(false);
        channel.writeAndFlush(head("transfer-encoding", "chunked"));
        ChannelFuture refused = channel.writeAndFlush(
                new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, "/", bytes(20_000)));
        assertTrue(refused.cause() instanceof io.netty.handler.codec.EncoderException);
        assertEquals(1, flushed());
        assertTrue(flushes.text.toString().endsWith("chunked\r\n\r\n"));
    }

    /** The writability of the channel changes when it does without this handler. */
    @Test
    void whatWasFlushedTakesNoRoom() {
        pipeline(false);
        channel.config().setWriteBufferWaterMark(new io.netty.channel.WriteBufferWaterMark(1_000, 4_000));
        for (int i = 0; i < 20; i++) {
            channel.writeAndFlush(i == 0 ? head("content-length", 19_000) : new DefaultHttpContent(bytes(1_000)));
            assertTrue(channel.isWritable());
        }
        assertTrue(flushed() < 8);
    }

    /** What another type of region does when it is read is not known, so it passes as it is. */
    @Test
    void onlyNettysOwnFilesAreRead() throws Exception {
        java.nio.file.Path path =
                java.nio.file.Files.write(java.nio.file.Files.createTempFile("onewrite", ""), new byte[300]);
        pipeline(false);
        List<Object> written = new ArrayList<>();
        channel.pipeline()
                .addAfter(channel.pipeline().context(flushes).name(), null, new ChannelOutboundHandlerAdapter() {
                    @Override
                    public void write(
                            ChannelHandlerContext ctx, Object message, io.netty.channel.ChannelPromise promise) {
                        written.add(message);
                        io.netty.util.ReferenceCountUtil.release(message);
                        promise.setSuccess();
                    }
                });
        io.netty.channel.FileRegion throwing = new io.netty.channel.DefaultFileRegion(path.toFile(), 0, 300) {
            @Override
            public long transferTo(java.nio.channels.WritableByteChannel target, long position) {
                throw new IllegalStateException("example");
            }
        };
        for (io.netty.channel.FileRegion region :
                List.of(throwing, new io.netty.channel.DefaultFileRegion(path.toFile(), 0, 300))) {
            channel.write(head("content-length", 300));
            channel.write(region);
            channel.writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT);
        }
        assertEquals(throwing, written.get(1));
        assertTrue(written.stream().skip(3).anyMatch(each -> each instanceof ByteBuf bytes && bytes.capacity() >= 300));
        assertEquals(
                1,
                written.stream()
                        .filter(each -> each instanceof io.netty.channel.FileRegion)
                        .count());
    }
}
