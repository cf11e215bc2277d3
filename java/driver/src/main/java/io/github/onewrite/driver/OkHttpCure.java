package io.github.onewrite.driver;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.okhttp.OnewriteOkHttp;
import java.util.function.UnaryOperator;
import okhttp3.OkHttpClient;

/** The adapter's customizer for OkHttp; apart, so that a stock process never loads it. */
final class OkHttpCure {
    private OkHttpCure() {}

    static UnaryOperator<OkHttpClient.Builder> of(Options options) {
        OnewriteOkHttp cure = OnewriteOkHttp.create().config(config(options.adapter()));
        if (options.withHooks()) {
            cure.onTiming(timing -> ((Recording) timing.tag().orElseThrow()).onTiming(timing));
            cure.listenerFactory((method, url, tag) -> (Recording) tag);
        }
        return cure::apply;
    }

    private static OnewriteConfig config(JsonObject given) {
        OnewriteConfig config = OnewriteConfig.defaults();
        for (String name : given.keySet()) {
            JsonElement value = given.get(name);
            config = switch (name) {
                case "disabled" -> config.withDisabled(value.getAsBoolean());
                case "nodelay_disabled" -> config.withNodelayDisabled(value.getAsBoolean());
                case "coalesce_disabled" -> config.withCoalesceDisabled(value.getAsBoolean());
                case "hooks_disabled" -> config.withHooksDisabled(value.getAsBoolean());
                case "coalesce_max" -> config.withCoalesceMax(value.getAsInt());
                case "quickack" -> config.withQuickack(value.getAsBoolean());
                default -> throw new Skip("unknown adapter option " + name);
            };
        }
        return config;
    }
}
