package io.github.onewrite.driver;

import io.netty.util.Version;
import java.util.List;

/** A client kind of the protocol: onewrite, patched, stock or control. */
interface Kind {

    /** Name of the base library of the first api: Netty, where a kind says nothing else. */
    default String baseName() {
        return "netty";
    }

    default String baseVersion() {
        return Version.identify().get("netty-codec-http").artifactVersion();
    }

    List<String> apis();

    List<String> capabilities();

    Client open(Options options);
}
