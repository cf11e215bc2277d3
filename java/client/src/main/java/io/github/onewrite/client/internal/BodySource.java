package io.github.onewrite.client.internal;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.Flow;

/** Where the bytes of a request's body come from. */
public sealed interface BodySource {

    /** Whether the body can be sent once more, should that be needed and safe. */
    boolean replayable();

    /** Bytes in memory. */
    record Bytes(ByteBuffer bytes) implements BodySource {
        public int size() {
            return bytes.remaining();
        }

        @Override
        public boolean replayable() {
            return true;
        }
    }

    /** A regular file. */
    record OfFile(Path path) implements BodySource {
        @Override
        public boolean replayable() {
            return true;
        }
    }

    /**
     * What a publisher publishes.
     *
     * @param length in bytes; -1 when unknown
     */
    record Published(Flow.Publisher<ByteBuffer> publisher, long length) implements BodySource {
        @Override
        public boolean replayable() {
            return false;
        }
    }
}
