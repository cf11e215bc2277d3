package io.github.onewrite.client;

import static io.github.onewrite.testing.SegmentServer.REQUESTS;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.github.onewrite.testing.SegmentServer;
import io.netty.channel.ChannelFactory;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Each request is one segment, counted at the server, on every transport. */
@EnabledOnOs(OS.LINUX)
class WireTest {
    private static final String SMALL = "x".repeat(200);

    @TempDir
    static Path dir;

    static Stream<Arguments> bodies() throws Exception {
        Path small = Files.writeString(dir.resolve("small"), SMALL);
        List<Arguments> all = new ArrayList<>();
        for (String transport : Transports.ALL) {
            all.add(body(transport, "none", Body::none, 1));
            all.add(body(transport, "bytes", () -> Body.of(SMALL), 1));
            all.add(body(transport, "buffer", () -> Body.of(ByteBuffer.allocateDirect(200)), 1));
            all.add(body(transport, "10 kB", () -> Body.of("x".repeat(10_000)), 1));
            // By sendfile, another system call.
            all.add(body(transport, "file", () -> Body.ofFile(small), 2));
            all.add(body(transport, "chunked", () -> Body.ofPublisher(Publishers.of(SMALL)), 1));
            all.add(body(transport, "chunked in three", () -> Body.ofPublisher(Publishers.of("a", SMALL, "b")), 1));
            all.add(body(transport, "stream with length", () -> Body.ofPublisher(Publishers.of("a", "bc"), 3), 1));
            // A segment of the loopback holds 65483 bytes, so two: the head has no segment to itself.
            all.add(body(transport, "64 KiB", () -> Body.of(new byte[65536]), 2));
        }
        return all.stream();
    }

    private static Arguments body(String transport, String name, Supplier<Body> body, int segments) {
        return Arguments.of(transport, name, body, segments);
    }

    @ParameterizedTest(name = "{1} on {0}: {3}")
    @MethodSource("bodies")
    void segments(String transport, String name, Supplier<Body> body, int segments) throws Exception {
        try (SegmentServer server = new SegmentServer();
                Transports.Standing standing = Transports.build(transport, OnewriteClient.builder())) {
            for (int i = 0; i < REQUESTS; i++) {
                assertEquals(
                        200,
                        standing.client()
                                .execute(Request.post(server.url(), body.get()))
                                .status());
            }
            assertEquals(REQUESTS, server.segments().size());
            assertEquals(segments, server.mode(), () -> name + ": " + server.segments());
        }
    }

    @ParameterizedTest(name = "{0}")
    @ValueSource(booleans = {true, false})
    @SuppressWarnings("deprecation")
    void theCallersOwnNodelayIsObeyed(boolean on) throws Exception {
        Queue<NioSocketChannel> made = new ConcurrentLinkedQueue<>();
        EventLoopGroup group = new NioEventLoopGroup(1);
        ChannelFactory<NioSocketChannel> channels = () -> {
            NioSocketChannel channel = new NioSocketChannel();
            made.add(channel);
            return channel;
        };
        try (SegmentServer server = new SegmentServer();
                Transports.Standing standing = Transports.on(
                        group, channels, OnewriteClient.builder().channelOption(ChannelOption.TCP_NODELAY, on))) {
            Request request = Request.post(server.url(), Body.of(SMALL)).build();
            assertEquals(200, standing.client().execute(request).status());
            assertEquals(1, made.size());
            assertEquals(on, made.element().config().isTcpNoDelay());
        }
    }
}
