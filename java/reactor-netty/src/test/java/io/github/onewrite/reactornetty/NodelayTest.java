package io.github.onewrite.reactornetty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.testing.TestServer;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.DefaultSocketChannelConfig;
import io.netty.channel.socket.SocketChannelConfig;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.LoopResources;

/** TCP_NODELAY, read back from the connection. */
class NodelayTest {

    /** Sends one GET, and returns its connection's TCP_NODELAY. */
    private static boolean nodelay(HttpClient client, String url) {
        List<Boolean> seen = new CopyOnWriteArrayList<>();
        client.doOnRequest((request, connection) ->
                        seen.add(connection.channel().config().getOption(ChannelOption.TCP_NODELAY)))
                .get()
                .uri(url)
                .response()
                .block(Duration.ofSeconds(30));
        assertEquals(1, seen.size());
        return seen.get(0);
    }

    @Test
    void isSetWithOptionsAndListenersOfTheUser() throws Exception {
        try (TestServer server = TestServer.answering()) {
            HttpClient client = OnewriteReactorNetty.create()
                    .apply(HttpClient.newConnection()
                            .option(ChannelOption.SO_KEEPALIVE, true)
                            .option(ChannelOption.SO_SNDBUF, 65536)
                            .doOnChannelInit((observer, channel, remote) -> {}));
            assertTrue(nodelay(client, server.url()));
        }
    }

    @Test
    void anExplicitSettingOfTheUserIsKept() throws Exception {
        try (TestServer server = TestServer.answering()) {
            HttpClient named = HttpClient.newConnection().option(ChannelOption.TCP_NODELAY, false);
            assertEquals(false, nodelay(OnewriteReactorNetty.create().apply(named), server.url()));
        }
    }

    /** A channel that ignores TCP_NODELAY. */
    public static final class StubbornChannel extends NioSocketChannel {
        @Override
        public SocketChannelConfig config() {
            return new DefaultSocketChannelConfig(this, javaChannel().socket()) {
                @Override
                public <T> T getOption(ChannelOption<T> option) {
                    @SuppressWarnings("unchecked")
                    T off = (T) Boolean.FALSE;
                    return option == ChannelOption.TCP_NODELAY ? off : super.getOption(option);
                }
            };
        }
    }

    /** Loops with such channels. */
    private record StubbornLoops(LoopResources loops) implements LoopResources {
        @Override
        public EventLoopGroup onServer(boolean useNative) {
            return loops.onServer(false);
        }

        @Override
        public EventLoopGroup onClient(boolean useNative) {
            return loops.onClient(false);
        }

        @Override
        @SuppressWarnings("unchecked")
        public <C extends Channel> C onChannel(Class<C> type, EventLoopGroup group) {
            return (C) new StubbornChannel();
        }

        @Override
        public Mono<Void> disposeLater(Duration quietPeriod, Duration timeout) {
            return loops.disposeLater(quietPeriod, timeout);
        }
    }

    @Test
    void aSocketWithoutItIsCounted() throws Exception {
        LoopResources loops = new StubbornLoops(LoopResources.create("stubborn", 1, true));
        try (TestServer server = TestServer.answering()) {
            OnewriteReactorNetty onewrite = OnewriteReactorNetty.create();
            HttpClient client = onewrite.apply(HttpClient.newConnection().runOn(loops, false));
            client.get().uri(server.url()).response().block(Duration.ofSeconds(30));
            assertEquals(
                    "on; connections without it so far: 1",
                    onewrite.status().patches().get("nodelay"));
        } finally {
            loops.disposeLater(Duration.ZERO, Duration.ofSeconds(5)).block(Duration.ofSeconds(30));
        }
    }
}
