package io.github.onewrite;

import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The switches common to all languages. Precedence: code, then system property, then environment, then false. Properties
 * and environment are read once, when this class is loaded. 1, true, yes and on are true, in any case.
 *
 * @param disabled everything is the base library's; no hook is called ({@code onewrite.disabled}, {@code ONEWRITE_DISABLED})
 * @param observe only the hooks work: TCP_NODELAY, writes and acknowledgements are the base library's
 *     ({@code onewrite.observe}, {@code ONEWRITE_OBSERVE})
 * @param quickack acknowledge at once while a response is read: Linux, Netty's native transports
 *     ({@code onewrite.quickack}, {@code ONEWRITE_QUICKACK})
 */
public record OnewriteConfig(boolean disabled, boolean observe, boolean quickack) {
    private static final System.Logger LOG = System.getLogger("io.github.onewrite");

    /** Bad settings that were warned of: a framework reads them again. */
    private static final Set<String> WARNED = ConcurrentHashMap.newKeySet();

    private static final OnewriteConfig DEFAULTS = read(System::getProperty, System::getenv);

    /** The switches of system properties and environment; else all are off. */
    public static OnewriteConfig defaults() {
        return DEFAULTS;
    }

    /**
     * The switches of two sources, the first before the second; else all are off. For frameworks that have their own
     * settings. A bad value warns once in a process and counts as unset.
     *
     * @param properties answers {@code onewrite.disabled} and its like, or null
     * @param environment answers {@code ONEWRITE_DISABLED} and its like, or null
     */
    public static OnewriteConfig read(
            UnaryOperator<@Nullable String> properties, UnaryOperator<@Nullable String> environment) {
        return new OnewriteConfig(
                read(properties, environment, "disabled"),
                read(properties, environment, "observe"),
                read(properties, environment, "quickack"));
    }

    private static boolean read(
            UnaryOperator<@Nullable String> properties, UnaryOperator<@Nullable String> environment, String name) {
        Boolean property = read(properties, "onewrite." + name);
        Boolean value = property == null ? read(environment, "ONEWRITE_" + name.toUpperCase(Locale.ROOT)) : property;
        return value != null && value;
    }

    private static @Nullable Boolean read(UnaryOperator<@Nullable String> source, String name) {
        String value;
        try {
            value = source.apply(name);
        } catch (SecurityException e) {
            return null; // A security manager hides it.
        }
        if (value == null || value.isBlank()) {
            return null;
        }
        switch (value.strip().toLowerCase(Locale.ROOT)) {
            case "1", "true", "yes", "on" -> {
                return true;
            }
            case "0", "false", "no", "off" -> {
                return false;
            }
            default -> {
                // One setting has two names, and Spring Boot answers to both.
                if (WARNED.add(name.toLowerCase(Locale.ROOT).replace('_', '.') + "=" + value)) {
                    String wanted = "1, true, yes or on; 0, false, no or off";
                    LOG.log(System.Logger.Level.WARNING, "{0}=\"{1}\" is ignored: use {2}", name, value, wanted);
                }
                return null;
            }
        }
    }

    public OnewriteConfig withDisabled(boolean value) {
        return new OnewriteConfig(value, observe, quickack);
    }

    public OnewriteConfig withObserve(boolean value) {
        return new OnewriteConfig(disabled, value, quickack);
    }

    public OnewriteConfig withQuickack(boolean value) {
        return new OnewriteConfig(disabled, observe, value);
    }

    /** Whether TCP_NODELAY and writes are the adapter's business. */
    public boolean changesWire() {
        return !disabled && !observe;
    }

    /** Whether TCP_QUICKACK is set again after each read. */
    public boolean acknowledgesAtOnce() {
        return changesWire() && quickack;
    }
}
