package io.github.onewrite.internal;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Status;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/** The state of a customizer: switches, hooks, and each thing that is changed. */
public final class Setup {
    private static final String ON = "on";
    private static final AtomicBoolean OTHER_COPY = new AtomicBoolean();

    /** Connections whose TCP_NODELAY was read back as off. */
    public final AtomicLong withoutNodelay = new AtomicLong();

    /** Connections whose writes are not joined. */
    public final AtomicLong notJoined = new AtomicLong();

    private final Supplier<Status.Base> base;
    private final Hooks hooks = new Hooks();
    private final Map<String, String> notes = new ConcurrentHashMap<>();
    private volatile OnewriteConfig config = OnewriteConfig.defaults();
    private volatile boolean applied;

    /** Starts with the switches of system properties and environment. */
    public Setup(Supplier<Status.Base> base) {
        this.base = base;
    }

    public void config(OnewriteConfig switches) {
        config = Objects.requireNonNull(switches, "switches");
    }

    public OnewriteConfig switches() {
        return config;
    }

    /** The hooks, to which more may be added. */
    public Hooks hooks() {
        return hooks;
    }

    /** Whether a request that begins on a connection made now has a record. */
    public boolean times() {
        return !config.disabled() && !hooks.isEmpty();
    }

    /** Another copy of these classes, of another class loader, was applied to what this is applied to. Warns once. */
    public static void otherCopy() {
        if (OTHER_COPY.compareAndSet(false, true)) {
            String message = "another copy of onewrite is at work here: this one stays off";
            System.getLogger("io.github.onewrite").log(System.Logger.Level.WARNING, message);
        }
    }

    /** The status shows that the customizer was applied. */
    public void applied() {
        applied = true;
    }

    /** The status shows why something is not on, or how far. */
    public void note(String patch, String why) {
        notes.put(patch, why);
    }

    public Status status() {
        String wire = config.observe() ? "observe is set" : ON;
        Map<String, String> patches = new LinkedHashMap<>();
        patches.put("nodelay", wire);
        patches.put("coalesce", wire);
        patches.put("timing", hooks.isEmpty() ? "waits for a hook" : ON);
        patches.put("quickack", config.quickack() ? wire : "quickack is not set");
        notes.forEach((patch, why) -> patches.replace(patch, ON, why));
        patches.replace("nodelay", ON, text(withoutNodelay));
        patches.replace("coalesce", ON, text(notJoined));
        String off = config.disabled() ? "disabled is set" : applied ? null : "it was not applied yet";
        if (off != null) {
            patches.replaceAll((patch, state) -> off);
        }
        return new Status(
                Status.class.getPackage().getImplementationVersion(),
                off == null,
                off,
                base.get(),
                Map.copyOf(patches),
                config,
                hooks.size(),
                hooks.errors());
    }

    private static String text(AtomicLong exceptions) {
        long count = exceptions.get();
        return count == 0 ? ON : ON + "; connections without it so far: " + count;
    }
}
