package io.github.onewrite.driver;

import io.github.onewrite.okhttp.OnewriteOkHttp;
import java.util.function.UnaryOperator;
import okhttp3.OkHttpClient;

/** The adapter's customizer for OkHttp; apart, so that a stock process never loads it. */
final class OkHttpCure {
    private OkHttpCure() {}

    static UnaryOperator<OkHttpClient.Builder> of(Options options) {
        OnewriteOkHttp cure = OnewriteOkHttp.create().config(AdapterOptions.of(options.adapter()));
        if (options.withHooks()) {
            cure.onTiming(timing -> ((Recording) timing.tag().orElseThrow()).onTiming(timing));
            cure.listenerFactory((method, url, tag) -> (Recording) tag);
        }
        return cure::apply;
    }
}
