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
     * The apis a process serves: all that the kind can drive, or only the one that ONEWRITE_DRIVER_API names, which is how
     * the judge tests the clients of other base libraries.
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

    /** The adapter's version, from the manifest of the driver's jar. */
    static String version() {
        String version = Kinds.class.getPackage().getImplementationVersion();
        return version == null ? "unknown" : version;
    }
}
