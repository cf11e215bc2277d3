package io.github.onewrite.driver;

/** The client kinds by their protocol names. */
final class Kinds {
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

    /** The adapter's version, from the jar this driver was built into. */
    static String version() {
        String version = Kinds.class.getPackage().getImplementationVersion();
        return version == null ? "unknown" : version;
    }
}
