package io.github.onewrite;

import java.util.Locale;
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
        for (Source source : sources(name)) {
            switch (source.value.toLowerCase(Locale.ROOT)) {
                case "1", "true", "yes", "on" -> {
                    return true;
                }
                case "0", "false", "no", "off", "" -> {
                    return false;
                }
                default -> source.ignored("1, true, yes or on; 0, false, no or off");
            }
        }
        return false;
    }

    /** A number from 0 to {@code max}, which is the default. */
    int number(String name, int max) {
        for (Source source : sources(name)) {
            if (source.value.isEmpty()) {
                continue;
            }
            try {
                int value = Integer.parseInt(source.value);
                if (value >= 0 && value <= max) {
                    return value;
                }
            } catch (NumberFormatException e) {
                // Warned of below, together with numbers out of range.
            }
            source.ignored("a number from 0 to " + max);
        }
        return max;
    }

    private Source[] sources(String name) {
        Source property = source(properties, "onewrite." + name);
        Source variable =
                source(environment, "ONEWRITE_" + name.replace('.', '_').toUpperCase(Locale.ROOT));
        if (property != null && variable != null) {
            return new Source[] {property, variable};
        }
        Source only = property != null ? property : variable;
        return only == null ? new Source[0] : new Source[] {only};
    }

    private static @Nullable Source source(UnaryOperator<@Nullable String> from, String name) {
        String value;
        try {
            value = from.apply(name);
        } catch (SecurityException e) {
            // A setting that a security manager hides counts as unset.
            return null;
        }
        return value == null ? null : new Source(name, value.strip());
    }

    private record Source(String name, String value) {
        void ignored(String wanted) {
            LOG.log(System.Logger.Level.WARNING, "{0} is ignored: it is to be {1}, not \"{2}\"", name, wanted, value);
        }
    }
}
