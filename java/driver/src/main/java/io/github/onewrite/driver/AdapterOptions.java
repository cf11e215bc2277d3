package io.github.onewrite.driver;

import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.TimingOptions;

/**
 * The adapter options of an {@code open} message, by their canonical names. The adapter refuses a value out
 * of range. An unknown name, or a value of another type, would not compile in Java: the driver skips it.
 */
final class AdapterOptions {
    private AdapterOptions() {}

    /**
     * Sets the switches and the hooks of a client whose calls have a recording as their tag.
     *
     * @throws IllegalArgumentException when the adapter refuses a value
     */
    static <S extends TimingOptions<S>> S apply(S customizer, Options options) {
        customizer.config(switches(options.adapter()));
        if (options.withOnTiming()) {
            customizer.onTiming(timing -> ((Recording) timing.tag().orElseThrow()).onTiming(timing));
        }
        if (options.withListener()) {
            customizer.listenerFactory((method, url, tag) -> (Recording) tag);
        }
        return customizer;
    }

    static OnewriteConfig switches(JsonObject given) {
        OnewriteConfig config = OnewriteConfig.defaults();
        for (String name : given.keySet()) {
            JsonPrimitive value = given.getAsJsonPrimitive(name);
            config = switch (name) {
                case "disabled" -> config.withDisabled(flag(name, value));
                case "nodelay_disabled" -> config.withNodelayDisabled(flag(name, value));
                case "coalesce_disabled" -> config.withCoalesceDisabled(flag(name, value));
                case "hooks_disabled" -> config.withHooksDisabled(flag(name, value));
                case "coalesce_max" -> config.withCoalesceMax(number(name, value));
                case "quickack" -> config.withQuickack(flag(name, value));
                default -> throw new Skip("the compiler refuses it: there is no option " + name);
            };
        }
        return config;
    }

    private static boolean flag(String name, JsonPrimitive value) {
        if (!value.isBoolean()) {
            throw new Skip("the compiler refuses it: " + name + " is a boolean");
        }
        return value.getAsBoolean();
    }

    private static int number(String name, JsonPrimitive value) {
        if (!value.isNumber() || value.getAsDouble() != Math.rint(value.getAsDouble())) {
            throw new Skip("the compiler refuses it: " + name + " is an int");
        }
        return value.getAsInt();
    }
}
