package io.github.onewrite.driver;

import io.github.onewrite.ahc.OnewriteAhc;
import io.github.onewrite.okhttp.OnewriteOkHttp;
import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import java.util.Queue;
import java.util.function.UnaryOperator;
import okhttp3.OkHttpClient;
import org.asynchttpclient.DefaultAsyncHttpClientConfig;
import reactor.netty.http.client.HttpClient;

/** The adapter's customizers, in a class of their own so that a stock process never loads them. */
final class Customizers {
    private Customizers() {}

    static UnaryOperator<OkHttpClient.Builder> okHttp(Options options) {
        return AdapterOptions.apply(OnewriteOkHttp.create(), options)::apply;
    }

    static UnaryOperator<HttpClient> reactorNetty(Options options) {
        return AdapterOptions.apply(OnewriteReactorNetty.create(), options)::apply;
    }

    /** @param begun takes the recording of the call whose request is written next: AsyncHttpClient's requests carry no tag */
    static UnaryOperator<DefaultAsyncHttpClientConfig.Builder> ahc(Options options, Queue<Recording> begun) {
        OnewriteAhc customizer = OnewriteAhc.create().config(AdapterOptions.switches(options.adapter()));
        if (options.withHooks()) {
            customizer.onTiming(Recording::onTimingOfEnded);
            customizer.listenerFactory((method, url, tag) -> {
                Recording next = begun.poll();
                // A redirect, or a repeated request.
                return next == null ? event -> {} : next;
            });
        }
        return customizer::apply;
    }
}
