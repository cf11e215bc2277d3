package io.github.onewrite.client.internal;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.Flow;

/** Where the bytes of a request's body come from. */
public sealed interface BodySource {

    /** Bytes in memory. */
    record Bytes(ByteBuffer bytes) implements BodySource {
        public int size() {
            return bytes.remaining();
        }
    }

    /** A regular file. */
    record OfFile(Path path) implements BodySource {}

    /**
     * What a publisher publishes, which cannot be sent again.
     *
     * @param length in bytes; -1 when unknown
     */
    record Published(Flow.Publisher<ByteBuffer> publisher, long length) implements BodySource {}
}
