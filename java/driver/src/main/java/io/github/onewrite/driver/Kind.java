package io.github.onewrite.driver;

import java.util.List;

/** A client kind of the protocol: onewrite, patched, stock or control. */
interface Kind {

    /** Name of the base library of the first api. */
    String baseName();

    String baseVersion();

    List<String> apis();

    List<String> capabilities();

    Client open(Options options);
}
