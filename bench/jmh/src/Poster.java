import io.github.onewrite.Timing;
import io.github.onewrite.client.Body;
import io.github.onewrite.client.OnewriteClient;
import io.github.onewrite.client.OnewriteClientBuilder;
import io.github.onewrite.client.Request;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.opentelemetry.instrumentation.netty.v4_1.NettyClientTelemetry;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import java.net.URI;

/** Makes a POST and waits for the answer. */
interface Poster {
    /** Returns the status. */
    int post() throws Exception;

    static Poster of(String variant, URI url, byte[] body, EventLoopGroup group) {
        OnewriteClientBuilder builder = OnewriteClient.builder().eventLoopGroup(group, NioSocketChannel::new);
        switch (variant) {
            case "stock", "stock again" -> {
                return new Stock(url, body, group, null);
            }
            case "OpenTelemetry" -> {
                var sdk = OpenTelemetrySdk.builder()
                        .setTracerProvider(SdkTracerProvider.builder().build())
                        .build();
                return new Stock(url, body, group, NettyClientTelemetry.create(sdk)::createCombinedHandler);
            }
            case "onewrite" -> {}
            case "on_timing" -> builder.onTiming(timing -> Seen.last = timing);
            case "every event" -> builder.onTiming(timing -> Seen.last = timing).listener(event -> {});
            default -> throw new IllegalArgumentException("no variant " + variant);
        }
        OnewriteClient client = builder.build();
        String target = url.toString();
        return () -> client.execute(Request.post(target, Body.of(body)).build()).status();
    }

    /** Written by the hook, so that the compiler cannot leave the record out. */
    final class Seen {
        static volatile Timing last;

        private Seen() {}
    }
}
