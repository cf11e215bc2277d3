package io.github.onewrite.driver;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.TimingOptions;
import io.github.onewrite.netty.OnewriteNetty;
import io.github.onewrite.okhttp.OnewriteOkHttp;
import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.pool.ChannelPool;
import io.netty.channel.pool.ChannelPoolHandler;
import java.util.function.UnaryOperator;
import okhttp3.OkHttpClient;
import reactor.netty.http.client.HttpClient;

/** The adapter's customizers, in a class of their own so that a stock process never loads them. */
final class Customizers {
    private Customizers() {}

    /** Sets the switches, and the hook of a client that has one. */
    private static <S extends TimingOptions<S>> S customize(S customizer, Options options, Recording recording) {
        OnewriteConfig config = OnewriteConfig.defaults();
        for (String name : options.adapter().keySet()) {
            boolean value = options.adapter().get(name).getAsBoolean();
            config = switch (name) {
                case "observe" -> config.withObserve(value);
                case "quickack" -> config.withQuickack(value);
                default -> throw new Skip("the compiler refuses it: there is no option " + name);
            };
        }
        customizer.config(config);
        return recording == null ? customizer : customizer.onTiming(recording);
    }

    static UnaryOperator<OkHttpClient.Builder> okHttp(Options options, Recording recording) {
        return customize(OnewriteOkHttp.create(), options, recording)::apply;
    }

    static UnaryOperator<HttpClient> reactorNetty(Options options, Recording recording) {
        return customize(OnewriteReactorNetty.create(), options, recording)::apply;
    }

    static BareNetty.Customizer netty(Options options, Recording recording) {
        OnewriteNetty onewrite = customize(OnewriteNetty.create(), options, recording);
        return new BareNetty.Customizer() {
            @Override
            public Bootstrap bootstrap(Bootstrap made) {
                return onewrite.apply(made);
            }

            @Override
            public ChannelPoolHandler handler(ChannelPoolHandler made) {
                return onewrite.wrap(made);
            }

            @Override
            public ChannelPool pool(ChannelPool made, String origin) {
                return onewrite.wrap(made, origin);
            }
        };
    }
}
