/** TCP_NODELAY and the common timing record for OkHttp. */
module io.github.onewrite.okhttp {
    requires transitive io.github.onewrite.core;
    requires transitive okhttp3;
    requires kotlin.stdlib;
    requires static org.jspecify;

    exports io.github.onewrite.okhttp;
}
