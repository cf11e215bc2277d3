package io.github.onewrite.driver;

import io.netty.util.Version;
import java.util.List;

/** A client kind of the protocol: onewrite, patched, stock or control. */
interface Kind {

    /** The apis it can drive, the default first. */
    List<String> apis();

    /** Its capabilities with this api. */
    List<String> capabilities(String api);

    Client open(Options options);

    /** Name of an api's base library. */
    static String baseName(String api) {
        return Library.of(api) == null ? "netty" : api;
    }

    static String baseVersion(String api) {
        Library library = Library.of(api);
        return library == null
                ? Version.identify().get("netty-codec-http").artifactVersion()
                : library.version().get();
    }
}
