package io.github.onewrite.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingListener;
import io.github.onewrite.netty.OnewriteNetty;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.Footprint;
import io.github.onewrite.testing.TestServer;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOption;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.ResourceLeakDetector;
import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The footprint's list is complete (FOOT-1, FOOT-2), and a call leaves nothing behind (FOOT-3, FOOT-4). */
class FootprintTest {
    private static final byte[] ANSWER =
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".getBytes(StandardCharsets.ISO_8859_1);
    private static final int IDLE = 2000;
    private static final OnewriteConfig DISABLED = OnewriteConfig.defaults().withDisabled(true);

    private static EmbeddedChannel channel(OnewriteNetty... customizers) {
        EmbeddedChannel channel = new EmbeddedChannel(new HttpClientCodec());
        for (OnewriteNetty each : customizers) {
            each.apply(channel.pipeline());
        }
        return channel;
    }

    /** Returns the names of the handlers that onewrite adds to a pipeline. */
    private static Set<String> handlers(OnewriteNetty onewrite) {
        EmbeddedChannel stock = channel();
        EmbeddedChannel ours = channel(onewrite);
        Set<String> more = new TreeSet<>(ours.pipeline().names());
        more.removeAll(stock.pipeline().names());
        List.of(stock, ours).forEach(EmbeddedChannel::finishAndReleaseAll);
        return more;
    }

    @Test
    void handlersAreOnTheList() throws Exception {
        String list = Files.readString(Path.of("../../spec/testdata/footprint/java.yaml"));
        OnewriteConfig quickack = OnewriteConfig.defaults().withQuickack(true);
        for (OnewriteNetty each : List.of(
                OnewriteNetty.create(),
                OnewriteNetty.create().onTiming(timing -> {}).config(quickack))) {
            Set<String> more = handlers(each);
            assertTrue(more.size() >= 3, more::toString); // without handlers the next line proves nothing
            more.forEach(name -> assertTrue(list.contains(name), name));
        }
        assertEquals(Set.of(), handlers(OnewriteNetty.create().config(DISABLED)));
        Bootstrap bootstrap = new Bootstrap();
        OnewriteNetty.create().apply(bootstrap);
        assertEquals(0, bootstrap.config().options().size(), "no option is set");
        assertEquals(1, bootstrap.config().attrs().size());
        Bootstrap off = new Bootstrap().option(ChannelOption.TCP_NODELAY, true);
        OnewriteNetty.create().config(DISABLED).apply(off);
        assertEquals(0, off.config().attrs().size());
    }

    @Test
    void theReadmeHasTheList() throws Exception {
        String names = Files.readString(Path.of("../../spec/testdata/footprint/java.yaml"))
                .lines()
                .filter(line -> line.startsWith("  - name: "))
                .map(line -> "- " + line.substring("  - name: ".length()) + "\n")
                .collect(Collectors.joining());
        String section = Files.readString(Path.of("../README.md"))
                .split("## What it touches")[1]
                .split("\n## ")[0];
        assertTrue(section.contains("\n\n" + names + "\n"), section);
    }

    private static Set<String> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(name -> name.startsWith("onewrite"))
                .collect(Collectors.toSet());
    }

    @Test
    void threadsEndWithTheClient() throws Exception {
        try (TestServer server = TestServer.answering()) {
            try (OnewriteClient client = OnewriteClient.create()) {
                client.execute(Request.get(server.url()));
                assertTrue(!threads().isEmpty());
            }
        }
        Eventually.until(() -> threads().isEmpty());
    }

    /** Sends a call, and returns weak references to its parts. */
    private static List<WeakReference<?>> call(OnewriteClient client, String url, String end) throws Exception {
        byte[] body = new byte[20_000];
        Object tag = new Object();
        Request request = Request.post(url, Body.of(body)).tag(tag).build();
        CompletableFuture<Response> call = client.send(request);
        if (end.equals("cancelled")) {
            call.cancel(true);
        }
        call.handle((response, why) -> response).get();
        return List.of(
                new WeakReference<>(body),
                new WeakReference<>(tag),
                new WeakReference<>(request),
                new WeakReference<>(call));
    }

    /** The connection stays open, and the thread of the call goes on. */
    @ParameterizedTest
    @ValueSource(strings = {"answered", "cancelled", "refused", "closed"})
    void nothingOfACallIsReachable(String end) throws Exception {
        List<WeakReference<?>> parts = new CopyOnWriteArrayList<>();
        try (TestServer server = end.equals("closed") ? TestServer.closingAt(1) : TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .onTiming(timing -> parts.add(new WeakReference<>(timing)))
                        .listenerFactory((method, url, tag) -> {
                            TimingListener listener = event -> parts.add(new WeakReference<>(event));
                            parts.add(new WeakReference<>(listener));
                            return listener;
                        })
                        .build()) {
            String url = end.equals("refused") ? "http://127.0.0.1:" + TestServer.unusedPort() + "/" : server.url();
            parts.addAll(call(client, url, end));
            Footprint.assertUnreachable(parts);
        }
    }

    /** The same check detects a hook that keeps records. */
    @Test
    void aMutantThatKeepsRecordsIsSeen() throws Exception {
        List<Timing> kept = new CopyOnWriteArrayList<>();
        try (TestServer server = TestServer.answering();
                OnewriteClient client =
                        OnewriteClient.builder().onTiming(kept::add).build()) {
            List<WeakReference<?>> parts = new ArrayList<>(call(client, server.url(), "answered"));
            Eventually.until(() -> kept.size() == 1);
            WeakReference<?> tag = parts.remove(1);
            Footprint.assertUnreachable(parts);
            assertTrue(tag.get() != null);
        }
    }

    private static void call(EmbeddedChannel channel) {
        channel.writeAndFlush(new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/"));
        ReferenceCountUtil.release(channel.readOutbound());
        channel.writeInbound(Unpooled.wrappedBuffer(ANSWER));
        for (Object each = channel.readInbound(); each != null; each = channel.readInbound()) {
            ReferenceCountUtil.release(each);
        }
    }

    private static long bytesPerCall(EmbeddedChannel channel) throws Exception {
        return Footprint.allocatedBytes(400, () -> {
            call(channel);
            return null;
        });
    }

    /** What one idle connection holds after a call, in bytes by class. */
    private static Map<String, Long> bytesOfIdle(OnewriteNetty... customizers) throws Exception {
        List<EmbeddedChannel> open = new ArrayList<>(IDLE);
        Map<String, Long> held = Footprint.bytesHeldByEach(IDLE, () -> {
            for (int i = 0; i < IDLE; i++) {
                EmbeddedChannel channel = channel(customizers);
                call(channel);
                open.add(channel);
            }
        });
        open.forEach(EmbeddedChannel::finishAndReleaseAll);
        return held;
    }

    private static long sum(Map<String, Long> bytes) {
        return bytes.values().stream().mapToLong(Long::longValue).sum();
    }

    /** FOOT-4, after a timed call. The leak detector is off, because it allocates for each access to a buffer. */
    @Test
    void anIdleConnectionHoldsLittle() throws Exception {
        ResourceLeakDetector.Level level = ResourceLeakDetector.getLevel();
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
        try {
            OnewriteNetty onewrite = OnewriteNetty.create().onTiming(timing -> {});
            bytesOfIdle(onewrite); // loads the classes
            Map<String, Long> stock = bytesOfIdle();
            Map<String, Long> ours = bytesOfIdle(onewrite);
            long more = sum(ours) - sum(stock);
            assertTrue(more > 0 && more <= 1024, () -> more + " bytes more: " + ours + ", stock " + stock);
        } finally {
            ResourceLeakDetector.setLevel(level);
        }
    }

    /** The request is a single message, which the handlers pass on. */
    @Test
    void aCallWithoutAHookAllocatesNothing() throws Exception {
        ResourceLeakDetector.Level level = ResourceLeakDetector.getLevel();
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
        try {
            EmbeddedChannel stock = channel();
            EmbeddedChannel ours = channel(OnewriteNetty.create());
            bytesPerCall(stock);
            bytesPerCall(ours);
            assertEquals(0, bytesPerCall(ours) - bytesPerCall(stock));
            List.of(stock, ours).forEach(EmbeddedChannel::finishAndReleaseAll);
        } finally {
            ResourceLeakDetector.setLevel(level);
        }
    }
}
