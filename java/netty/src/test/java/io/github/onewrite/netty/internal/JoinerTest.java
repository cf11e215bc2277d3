package io.github.onewrite.netty.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.netty.OnewriteNetty;
import io.github.onewrite.testing.Eventually;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SingleThreadEventLoop;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.EncoderException;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import java.io.ByteArrayOutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Counts the flushes below the codec on a TCP socket, and compares bytes and promises with those of Netty alone. */
@SuppressWarnings("deprecation") // NioEventLoopGroup is in Netty 4.1 and 4.2.
class JoinerTest {
    private final EventLoopGroup group = new NioEventLoopGroup(1);
    private Flushes flushes = new Flushes();
    private ServerSocket server;
    private Channel channel;
    private boolean resets;

    /** What the pipeline was told. */
    private final List<String> caught = new CopyOnWriteArrayList<>();

    @BeforeEach
    void listen() throws Exception {
        server = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
    }

    @AfterEach
    void close() throws Exception {
        server.close();
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS).await(30, TimeUnit.SECONDS);
    }

    /** Connects. The future completes with all bytes that the server reads until the channel closes. */
    private CompletableFuture<String> open(@Nullable OnewriteNetty customizer) throws Exception {
        flushes = new Flushes();
        caught.clear();
        ChannelInboundHandlerAdapter tail = new ChannelInboundHandlerAdapter() {
            @Override
            public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
                caught.add(String.valueOf(cause.getMessage()));
            }

            @Override
            public void channelInactive(ChannelHandlerContext ctx) {
                caught.add("inactive");
            }
        };
        channel = new Bootstrap()
                .group(group)
                .channel(NioSocketChannel.class)
                .option(ChannelOption.AUTO_READ, !resets)
                .handler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel made) {
                        made.pipeline().addLast(flushes);
                        made.pipeline().addLast("codec", new HttpClientCodec());
                        made.pipeline().addLast(tail);
                        if (customizer != null) {
                            customizer.apply(made.pipeline());
                        }
                    }
                })
                .connect(server.getLocalSocketAddress())
                .sync()
                .channel();
        Socket accepted = server.accept();
        if (resets) {
            accepted.setSoLinger(true, 0);
            accepted.close();
            return new CompletableFuture<>();
        }
        CompletableFuture<String> read = new CompletableFuture<>();
        Thread reader = new Thread(() -> {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (accepted) {
                accepted.getInputStream().transferTo(bytes);
            } catch (java.io.IOException e) {
                // After a reset the bytes so far count.
            }
            read.complete(bytes.toString(StandardCharsets.ISO_8859_1));
        });
        reader.setDaemon(true);
        reader.start();
        return read;
    }

    /** Runs the steps in the same turn of the event loop, and waits for three more turns. */
    private void turn(Consumer<Channel> steps) throws Exception {
        channel.eventLoop().submit(() -> steps.accept(channel)).get(30, TimeUnit.SECONDS);
        CompletableFuture<Void> ended = new CompletableFuture<>();
        ((SingleThreadEventLoop) channel.eventLoop()).executeAfterEventLoopIteration(() -> ended.complete(null));
        ended.get(30, TimeUnit.SECONDS);
    }

    private int flushed() {
        return flushes.sizes.size();
    }

    private static HttpRequest head(String name, Object value) {
        HttpRequest head = new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, "/");
        head.headers().set(name, value);
        return head;
    }

    private static ByteBuf bytes(int size) {
        return Unpooled.wrappedBuffer(new byte[size]);
    }

    @Test
    void whatIsWrittenInOneTurnLeavesInOneFlush() throws Exception {
        open(OnewriteNetty.create());
        turn(at -> {
            at.writeAndFlush(head("transfer-encoding", "chunked"));
            at.writeAndFlush(new DefaultHttpContent(bytes(100)));
            at.writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT);
        });
        assertEquals(1, flushed());
    }

    /** As AWS SDK does. */
    @Test
    void aBodyThatTasksOfTheTurnPostLeavesWithItsHead() throws Exception {
        open(OnewriteNetty.create());
        turn(at -> {
            at.writeAndFlush(head("content-length", 3));
            at.eventLoop().execute(() -> at.eventLoop().execute(() -> at.eventLoop()
                    .execute(() -> at.writeAndFlush(new DefaultLastHttpContent(bytes(3))))));
        });
        assertEquals(1, flushed());
    }

    @Test
    void whatComesInALaterTurnIsNotWaitedFor() throws Exception {
        open(OnewriteNetty.create());
        turn(at -> at.writeAndFlush(head("content-length", 3)));
        assertEquals(1, flushed());
        turn(at -> at.writeAndFlush(new DefaultLastHttpContent(bytes(3))));
        assertEquals(2, flushed());
    }

    @Test
    void aBodyThatTheHeadsListenerWritesLeavesWithIt() throws Exception {
        CompletableFuture<String> read = open(OnewriteNetty.create());
        turn(at -> {
            at.writeAndFlush(head("transfer-encoding", "chunked"))
                    .addListener(done -> at.writeAndFlush(new DefaultHttpContent(bytes(3))));
            at.writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT);
        });
        assertEquals(1, flushed());
        channel.close();
        assertTrue(read.get(30, TimeUnit.SECONDS).endsWith("\r\n\r\n3\r\n\0\0\0\r\n0\r\n\r\n"));
    }

    @ParameterizedTest
    @CsvSource({"expect,100-continue", "content-length,0", "content-length,-1", "content-length,many", "x,y"})
    void aHeadWithoutABodyToComeIsNotHeld(String header, String value) throws Exception {
        open(OnewriteNetty.create());
        turn(at -> {
            at.writeAndFlush(head(header, value));
            assertEquals(1, flushed());
        });
    }

    /** {@code SocketChannel.shutdownOutput} calls no handler, and fails writes that are not flushed. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCompleteRequestIsNotHeldThoughNoLastContentFollows(boolean raw) throws Exception {
        CompletableFuture<String> read = open(OnewriteNetty.create());
        turn(at -> {
            at.writeAndFlush(head("content-length", 5));
            at.writeAndFlush(raw ? bytes(2) : new DefaultHttpContent(bytes(2)));
            assertEquals(0, flushed());
            at.writeAndFlush(raw ? bytes(3) : new DefaultHttpContent(bytes(3)));
            ((SocketChannel) at).shutdownOutput();
        });
        assertTrue(read.get(30, TimeUnit.SECONDS).endsWith("\r\n\r\n" + "\0".repeat(5)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"remove", "deregister", "close", "disconnect"})
    void whatWasFlushedLeavesBefore(String step) throws Exception {
        CompletableFuture<String> read = open(OnewriteNetty.create());
        turn(at -> {
            at.writeAndFlush(head("content-length", 200));
            assertEquals(0, flushed());
            switch (step) {
                case "remove" -> at.pipeline().remove(Joiner.class);
                case "deregister" -> at.deregister();
                case "close" -> at.close();
                default -> at.disconnect();
            }
            assertEquals(1, flushed());
        });
        channel.close();
        assertTrue(read.get(30, TimeUnit.SECONDS).contains("200"));
    }

    @Test
    void aWriteThatWasFlushedCannotBeCancelledAndOneThatWasNotCan() throws Exception {
        CompletableFuture<String> read = open(OnewriteNetty.create());
        turn(at -> {
            ChannelFuture head = at.writeAndFlush(head("content-length", 100));
            assertFalse(head.cancel(false));
            ChannelFuture cancelled = at.write(new DefaultHttpContent(bytes(50)));
            assertTrue(cancelled.cancel(false));
            at.writeAndFlush(new DefaultLastHttpContent(bytes(100)));
            assertTrue(head.isSuccess());
        });
        channel.close();
        assertTrue(read.get(30, TimeUnit.SECONDS).endsWith("\r\n\r\n" + "\0".repeat(100)));
    }

    /** The codec rejects a head inside a request. */
    @Test
    void aWriteThatTheCodecRefusesFails() throws Exception {
        open(OnewriteNetty.create());
        List<Throwable> failures = new ArrayList<>();
        turn(at -> {
            at.writeAndFlush(head("transfer-encoding", "chunked"));
            at.writeAndFlush(head("transfer-encoding", "chunked")).addListener(done -> failures.add(done.cause()));
        });
        assertTrue(failures.get(0) instanceof EncoderException, failures::toString);
    }

    /** A delayed flush does not change the writability of the channel. */
    @Test
    void whatIsHeldTakesNoRoom() throws Exception {
        open(OnewriteNetty.create());
        turn(at -> {
            at.config().setWriteBufferWaterMark(new WriteBufferWaterMark(1_000, 4_000));
            for (int i = 0; i < 20; i++) {
                at.writeAndFlush(i == 0 ? head("content-length", 19_000) : new DefaultHttpContent(bytes(1_000)));
                assertTrue(at.isWritable());
            }
        });
    }

    /**
     * The peer has reset an idle connection, and the program writes a head whose body is not there yet: its promise was answered
     * before the bytes could not leave.
     */
    @Test
    void aWriteThatFailsAfterItsAnswerReachesThePipelineBeforeTheEnd() throws Exception {
        for (OnewriteNetty customizer :
                List.of(OnewriteNetty.create(), OnewriteNetty.create().onTiming(timing -> {}))) {
            resets = true;
            open(customizer);
            turn(at -> at.writeAndFlush(head("transfer-encoding", "chunked")));
            Eventually.until(() -> caught.contains("inactive"));
            assertEquals(2, caught.size(), caught::toString);
            assertTrue(caught.get(0).contains("reset") || caught.get(0).contains("Broken pipe"), caught::toString);
            assertEquals("inactive", caught.get(1));
        }
    }

    /** Its event loop runs nothing at the end of a turn. */
    @Test
    void onTheBlockingTransportNothingIsHeld() throws Exception {
        EventLoopGroup blocking = new io.netty.channel.oio.OioEventLoopGroup();
        OnewriteNetty customizer = OnewriteNetty.create();
        try {
            Channel made = new Bootstrap()
                    .group(blocking)
                    .channel(io.netty.channel.socket.oio.OioSocketChannel.class)
                    .handler(new ChannelInitializer<>() {
                        @Override
                        protected void initChannel(Channel made) {
                            made.pipeline().addLast(new HttpClientCodec());
                            customizer.apply(made.pipeline());
                        }
                    })
                    .connect(server.getLocalSocketAddress())
                    .sync()
                    .channel();
            try (Socket accepted = server.accept()) {
                made.writeAndFlush(head("transfer-encoding", "chunked")).get(30, TimeUnit.SECONDS);
                accepted.setSoTimeout(30_000);
                assertEquals('P', accepted.getInputStream().read());
            }
            assertEquals(
                    "on; connections without it so far: 1",
                    customizer.status().patches().get("coalesce"));
        } finally {
            blocking.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        }
    }

    /** Netty reports a write with the void promise to nobody where the channel is closed. */
    @Test
    void aVoidWriteOnAClosedChannel() throws Exception {
        for (OnewriteNetty customizer : new OnewriteNetty[] {
            null, OnewriteNetty.create(), OnewriteNetty.create().onTiming(timing -> {})
        }) {
            open(customizer);
            turn(at -> {
                at.close();
                at.writeAndFlush(head("content-length", 2), at.voidPromise());
                at.writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT, at.voidPromise());
            });
            Eventually.until(() -> caught.contains("inactive"));
            assertEquals(List.of("inactive"), caught);
        }
    }

    /** Takes a step of a random script, and records the outcome of its write. */
    private static void step(Random random, Channel at, List<String> ends, int depth) {
        int kind = random.nextInt(10);
        int size = random.nextInt(10) == 0 ? 30_000 : random.nextInt(300);
        Object message =
                switch (kind) {
                    case 0, 1 -> head("transfer-encoding", "chunked");
                    case 2 -> head("content-length", size);
                    case 3 -> head("expect", "100-continue");
                    case 4 -> new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, "/", bytes(size));
                    case 5, 6, 7 -> new DefaultHttpContent(bytes(size));
                    default -> new DefaultLastHttpContent(bytes(random.nextBoolean() ? 0 : size));
                };
        int number = ends.size();
        ends.add("open");
        ChannelFuture write = depth == 0 && random.nextInt(3) == 0 ? at.write(message) : at.writeAndFlush(message);
        boolean more = depth < 3 && random.nextInt(3) == 0;
        long seed = random.nextLong();
        write.addListener(done -> {
            ends.set(number, done.isSuccess() ? "sent" : String.valueOf(done.cause()));
            if (more && done.isSuccess()) {
                step(new Random(seed), at, ends, depth + 1);
            }
        });
        if (random.nextInt(6) == 0) {
            at.flush();
        }
    }

    /** Returns the bytes that the server read and the outcome of each write. */
    private String play(long seed, @Nullable OnewriteNetty customizer) throws Exception {
        CompletableFuture<String> read = open(customizer);
        Random random = new Random(seed);
        List<String> ends = new ArrayList<>();
        for (int i = random.nextInt(4); i >= 0; i--) {
            turn(at -> {
                for (int k = random.nextInt(6); k >= 0; k--) {
                    step(random, at, ends, 0);
                }
                // A delayed flush sends later writes that have no flush. Stock does not, so the script flushes.
                at.flush();
            });
        }
        turn(Channel::flush);
        channel.close().get(30, TimeUnit.SECONDS);
        Eventually.until(() -> caught.contains("inactive"));
        return ends + "\n" + caught + "\n" + read.get(30, TimeUnit.SECONDS);
    }

    @Test
    void randomScriptsAreAsWithNettyAlone() throws Exception {
        int scripts = Integer.getInteger("onewrite.scripts", 60);
        for (long seed = 0; seed < scripts; seed++) {
            String stock = play(seed, null);
            assertEquals(stock, play(seed, OnewriteNetty.create()), "seed " + seed);
            assertEquals(stock, play(seed, OnewriteNetty.create().onTiming(timing -> {})), "timed, seed " + seed);
        }
    }
}
