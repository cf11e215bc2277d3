package io.github.onewrite;

import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The switches common to all languages. Precedence: code, then system property, then environment, then default.
 * Properties and environment are read once, when this class is loaded.
 *
 * @param disabled everything is the base library's; no hook is called ({@code onewrite.disabled},
 *     {@code ONEWRITE_DISABLED}; default false)
 * @param nodelayDisabled TCP_NODELAY is left as the base library leaves it ({@code onewrite.nodelay.disabled},
 *     {@code ONEWRITE_NODELAY_DISABLED}; default false)
 * @param coalesceDisabled writes are left as the base library makes them ({@code onewrite.coalesce.disabled},
 *     {@code ONEWRITE_COALESCE_DISABLED}; default false)
 * @param hooksDisabled no timing hook or listener is called ({@code onewrite.hooks.disabled},
 *     {@code ONEWRITE_HOOKS_DISABLED}; default false)
 * @param observe only the hooks work: TCP_NODELAY, writes and acknowledgements are the base library's
 *     ({@code onewrite.observe}, {@code ONEWRITE_OBSERVE}; default false)
 * @param coalesceMax head and body up to this many bytes in sum are joined into one write
 *     ({@code onewrite.coalesce.max}, {@code ONEWRITE_COALESCE_MAX}; 0 to 16384, default 16384: one TLS record)
 * @param quickack acknowledge at once while a response is read (Linux, epoll; {@code onewrite.quickack},
 *     {@code ONEWRITE_QUICKACK}; default false)
 */
public record OnewriteConfig(
        boolean disabled,
        boolean nodelayDisabled,
        boolean coalesceDisabled,
        boolean hooksDisabled,
        boolean observe,
        int coalesceMax,
        boolean quickack) {

    /** Bytes of plaintext in one TLS record (RFC 8446, 5.1). */
    public static final int MAX_COALESCE = 16384;

    private static final OnewriteConfig DEFAULTS = read(System::getProperty, System::getenv);

    /** @throws IllegalArgumentException when {@code coalesceMax} is not from 0 to 16384 */
    public OnewriteConfig {
        if (coalesceMax < 0 || coalesceMax > MAX_COALESCE) {
            throw new IllegalArgumentException("coalesceMax is from 0 to " + MAX_COALESCE + ", not " + coalesceMax);
        }
    }

    /** The switches of system properties and environment; else the defaults. */
    public static OnewriteConfig defaults() {
        return DEFAULTS;
    }

    /**
     * The switches of two sources, the first before the second; else the defaults. For frameworks that have their own
     * settings. A bad value warns and counts as unset.
     *
     * @param properties answers {@code onewrite.disabled} and its like, or null
     * @param environment answers {@code ONEWRITE_DISABLED} and its like, or null
     */
    public static OnewriteConfig read(
            UnaryOperator<@Nullable String> properties, UnaryOperator<@Nullable String> environment) {
        ConfigReader reader = new ConfigReader(properties, environment);
        return new OnewriteConfig(
                reader.flag("disabled"),
                reader.flag("nodelay.disabled"),
                reader.flag("coalesce.disabled"),
                reader.flag("hooks.disabled"),
                reader.flag("observe"),
                reader.number("coalesce.max", MAX_COALESCE),
                reader.flag("quickack"));
    }

    public OnewriteConfig withDisabled(boolean value) {
        return new OnewriteConfig(
                value, nodelayDisabled, coalesceDisabled, hooksDisabled, observe, coalesceMax, quickack);
    }

    public OnewriteConfig withNodelayDisabled(boolean value) {
        return new OnewriteConfig(disabled, value, coalesceDisabled, hooksDisabled, observe, coalesceMax, quickack);
    }

    public OnewriteConfig withCoalesceDisabled(boolean value) {
        return new OnewriteConfig(disabled, nodelayDisabled, value, hooksDisabled, observe, coalesceMax, quickack);
    }

    public OnewriteConfig withHooksDisabled(boolean value) {
        return new OnewriteConfig(disabled, nodelayDisabled, coalesceDisabled, value, observe, coalesceMax, quickack);
    }

    public OnewriteConfig withObserve(boolean value) {
        return new OnewriteConfig(
                disabled, nodelayDisabled, coalesceDisabled, hooksDisabled, value, coalesceMax, quickack);
    }

    public OnewriteConfig withCoalesceMax(int bytes) {
        return new OnewriteConfig(disabled, nodelayDisabled, coalesceDisabled, hooksDisabled, observe, bytes, quickack);
    }

    public OnewriteConfig withQuickack(boolean value) {
        return new OnewriteConfig(
                disabled, nodelayDisabled, coalesceDisabled, hooksDisabled, observe, coalesceMax, value);
    }

    /** Whether TCP_NODELAY is this adapter's business. */
    public boolean guardsNodelay() {
        return !disabled && !observe && !nodelayDisabled;
    }

    /** Whether joining writes is this adapter's business. */
    public boolean coalesces() {
        return !disabled && !observe && !coalesceDisabled && coalesceMax > 0;
    }

    /** Whether TCP_QUICKACK is set again after each read. */
    public boolean acknowledgesAtOnce() {
        return !disabled && !observe && quickack;
    }

    /** Whether hooks are called. */
    public boolean callsHooks() {
        return !disabled && !hooksDisabled;
    }
}
