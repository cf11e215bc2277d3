package io.github.onewrite;

import java.util.Locale;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Reads the switches from system properties, then the environment. A bad value warns and counts as unset. */
final class ConfigReader {
    private static final System.Logger LOG = System.getLogger("io.github.onewrite");

    private final UnaryOperator<@Nullable String> properties;
    private final UnaryOperator<@Nullable String> environment;

    ConfigReader(UnaryOperator<@Nullable String> properties, UnaryOperator<@Nullable String> environment) {
        this.properties = properties;
        this.environment = environment;
    }

    /** A switch by the end of its name, such as {@code coalesce.disabled}. False when unset. */
    boolean flag(String name) {
        return read(name, false, "1, true, yes or on; 0, false, no or off", ConfigReader::flagOf);
    }

    /** A number from 0 to {@code max}, which is the default. */
    int number(String name, int max) {
        return read(name, max, "a number from 0 to " + max, value -> numberOf(value, max));
    }

    private static @Nullable Boolean flagOf(String value) {
        return switch (value.toLowerCase(Locale.ROOT)) {
            case "1", "true", "yes", "on" -> true;
            case "0", "false", "no", "off", "" -> false;
            default -> null;
        };
    }

    private static @Nullable Integer numberOf(String value, int max) {
        try {
            int number = Integer.parseInt(value);
            return number >= 0 && number <= max ? number : null;
        } catch (NumberFormatException e) {
            return null;
        }
    }

    private <T> T read(String name, T unset, String wanted, Function<String, @Nullable T> parser) {
        T property = read(properties, "onewrite." + name, wanted, parser);
        if (property != null) {
            return property;
        }
        String variable = "ONEWRITE_" + name.replace('.', '_').toUpperCase(Locale.ROOT);
        T value = read(environment, variable, wanted, parser);
        return value == null ? unset : value;
    }

    private static <T> @Nullable T read(
            UnaryOperator<@Nullable String> from, String name, String wanted, Function<String, @Nullable T> parser) {
        String value;
        try {
            value = from.apply(name);
        } catch (SecurityException e) {
            // A setting that a security manager hides counts as unset.
            return null;
        }
        T parsed = value == null ? null : parser.apply(value.strip());
        if (parsed == null && value != null && !value.isBlank()) {
            LOG.log(System.Logger.Level.WARNING, "{0} is ignored: it is to be {1}, not \"{2}\"", name, wanted, value);
        }
        return parsed;
    }
}
