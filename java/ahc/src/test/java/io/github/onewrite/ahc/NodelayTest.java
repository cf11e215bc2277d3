package io.github.onewrite.ahc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.testing.TestServer;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.asynchttpclient.AsyncHttpClient;
import org.asynchttpclient.DefaultAsyncHttpClientConfig;
import org.asynchttpclient.Dsl;
import org.junit.jupiter.api.Test;

/** TCP_NODELAY, read back from the connection. */
class NodelayTest {
    /** Sends one POST with this configuration, and returns its connection's TCP_NODELAY. */
    private static boolean nodelay(OnewriteAhc customizer, DefaultAsyncHttpClientConfig.Builder builder)
            throws Exception {
        List<Boolean> seen = new CopyOnWriteArrayList<>();
        Consumer<Channel> noting = channel -> channel.pipeline().addFirst(new ChannelInboundHandlerAdapter() {
            @Override
            public void channelActive(ChannelHandlerContext ctx) {
                seen.add(ctx.channel().config().getOption(ChannelOption.TCP_NODELAY));
                ctx.fireChannelActive();
            }
        });
        Consumer<Channel> before = builder.build().getHttpAdditionalChannelInitializer();
        builder.setHttpAdditionalChannelInitializer(before == null ? noting : before.andThen(noting));
        try (TestServer server = TestServer.answering();
                AsyncHttpClient client =
                        Dsl.asyncHttpClient(customizer.apply(builder.setShutdownQuietPeriod(Duration.ZERO)))) {
            client.preparePost(server.url()).setBody("hello").execute().get(30, TimeUnit.SECONDS);
        }
        assertEquals(1, seen.size());
        return seen.get(0);
    }

    /** A channel initializer that switches the option off is overruled: only the client's configuration counts. */
    @Test
    void isSetWhereAnInitializerLostIt() throws Exception {
        Consumer<Channel> losing = channel -> channel.config().setOption(ChannelOption.TCP_NODELAY, false);
        assertEquals(
                false,
                nodelay(
                        OnewriteAhc.create().config(OnewriteConfig.defaults().withNodelayDisabled(true)),
                        Dsl.config().setHttpAdditionalChannelInitializer(losing)));
        assertTrue(nodelay(OnewriteAhc.create(), Dsl.config().setHttpAdditionalChannelInitializer(losing)));
    }

    /** The other way to name it, a channel option, is shown by a case of TCP-3. */
    @Test
    void theSettingOfTheClientIsKept() throws Exception {
        assertEquals(false, nodelay(OnewriteAhc.create(), Dsl.config().setTcpNoDelay(false)));
    }
}
