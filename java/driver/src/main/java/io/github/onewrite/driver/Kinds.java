package io.github.onewrite.driver;

import java.util.List;

/** The client kinds by their protocol names. */
final class Kinds {
    static final List<String> NAMES = List.of("onewrite", "patched", "stock", "control");

    private Kinds() {}

    static Kind of(String name) {
        return switch (name) {
            case "onewrite" -> new OnewriteKind();
            case "patched" -> new PatchedKind();
            case "stock" -> new StockKind();
            case "control" -> new ControlKind();
            default -> throw new Skip("unknown client kind " + name);
        };
    }

    /**
     * The apis a process serves: what the kind can drive, or the one that ONEWRITE_DRIVER_API names. The judge knows a
     * client of a second base library by that.
     */
    static List<String> apis(Kind kind) {
        String only = System.getenv("ONEWRITE_DRIVER_API");
        if (only == null) {
            return kind.apis();
        }
        if (!kind.apis().contains(only)) {
            throw new Skip("api " + only + " is not one of " + kind.apis());
        }
        return List.of(only);
    }

    /** The adapter's version, from the jar this driver was built into. */
    static String version() {
        String version = Kinds.class.getPackage().getImplementationVersion();
        return version == null ? "unknown" : version;
    }
}
