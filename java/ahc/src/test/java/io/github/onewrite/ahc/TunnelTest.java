package io.github.onewrite.ahc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.testing.Identity;
import io.github.onewrite.testing.TestServer;
import io.github.onewrite.testing.Tunnel;
import io.netty.channel.Channel;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.ssl.SslHandler;
import java.io.ByteArrayInputStream;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.asynchttpclient.AsyncHttpClient;
import org.asynchttpclient.Dsl;
import org.asynchttpclient.proxy.ProxyServer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** After CONNECT, AsyncHttpClient adds TLS and a new codec to the pipeline; our handlers move around that codec. */
class TunnelTest {
    @ParameterizedTest(name = "timed {0}")
    @ValueSource(booleans = {false, true})
    void theHandlersAreAroundTheNewCodec(boolean timed) throws Exception {
        List<Channel> channels = new CopyOnWriteArrayList<>();
        OnewriteAhc customizer = OnewriteAhc.create();
        if (timed) {
            customizer.onTiming(timing -> {});
        }
        try (TestServer server = TestServer.answering(Identity.listener());
                TestServer proxy = Tunnel.to(server);
                AsyncHttpClient client = Dsl.asyncHttpClient(customizer.apply(Dsl.config()
                        .setShutdownQuietPeriod(Duration.ZERO)
                        .setUseInsecureTrustManager(true)
                        .setHttpAdditionalChannelInitializer(channels::add)
                        .setProxyServer(new ProxyServer.Builder("127.0.0.1", proxy.port()))))) {
            for (int i = 0; i < 2; i++) {
                assertEquals(
                        200,
                        client.preparePost("https://localhost:" + server.port() + "/")
                                .setBody(new ByteArrayInputStream(new byte[200]))
                                .execute()
                                .get(30, TimeUnit.SECONDS)
                                .getStatusCode());
                assertEquals(1, channels.size());
                ChannelPipeline pipeline = channels.get(0).pipeline();
                List<String> names = pipeline.names();
                int tls = names.indexOf(pipeline.context(SslHandler.class).name());
                int wire = names.indexOf("onewrite.bytes");
                int codec =
                        names.indexOf(pipeline.context(HttpClientCodec.class).name());
                int oneWrite = names.indexOf("onewrite.coalesce");
                assertTrue(tls < codec && codec < oneWrite, names.toString());
                assertTrue(tls < wire && wire < codec, names.toString());
            }
        }
    }
}
