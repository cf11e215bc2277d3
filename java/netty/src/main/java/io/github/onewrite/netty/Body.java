package io.github.onewrite.netty;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.Flow;

/** A request body. Bytes are not copied: leave them alone until the call is over. */
public abstract sealed class Body {
    private static final Body NONE = new Fixed(ByteBuffer.allocate(0));

    private Body() {}

    /** No body. Methods that usually have one are sent with {@code Content-Length: 0}. */
    public static Body none() {
        return NONE;
    }

    public static Body of(byte[] bytes) {
        return bytes.length == 0 ? NONE : new Fixed(ByteBuffer.wrap(bytes));
    }

    /** The text in UTF-8. */
    public static Body of(String text) {
        return of(text.getBytes(StandardCharsets.UTF_8));
    }

    /** The bytes between the buffer's position and limit, which stay as they are. */
    public static Body of(ByteBuffer buffer) {
        return new Fixed(buffer.asReadOnlyBuffer());
    }

    /** A regular file. Opened when the request is sent; its size then is the Content-Length. */
    public static Body ofFile(Path path) {
        return new OfFile(Objects.requireNonNull(path, "path"));
    }

    /** A stream of unknown length, sent chunked. Buffers belong to the client once published. */
    public static Body ofPublisher(Flow.Publisher<ByteBuffer> publisher) {
        return new Published(Objects.requireNonNull(publisher, "publisher"), -1);
    }

    /**
     * A stream of known length. When it turns out shorter or longer the call fails and the connection is closed.
     *
     * @param length in bytes, not negative
     */
    public static Body ofPublisher(Flow.Publisher<ByteBuffer> publisher, long length) {
        if (length < 0) {
            throw new IllegalArgumentException("length is to be 0 or more, not " + length);
        }
        return new Published(Objects.requireNonNull(publisher, "publisher"), length);
    }

    /** Whether the body can be sent once more, should that be needed and safe. */
    abstract boolean replayable();

    static final class Fixed extends Body {
        private final ByteBuffer bytes;

        private Fixed(ByteBuffer bytes) {
            this.bytes = bytes;
        }

        ByteBuffer bytes() {
            return bytes;
        }

        int size() {
            return bytes.remaining();
        }

        @Override
        boolean replayable() {
            return true;
        }
    }

    static final class OfFile extends Body {
        private final Path path;

        private OfFile(Path path) {
            this.path = path;
        }

        Path path() {
            return path;
        }

        @Override
        boolean replayable() {
            return true;
        }
    }

    static final class Published extends Body {
        private final Flow.Publisher<ByteBuffer> publisher;
        private final long length;

        private Published(Flow.Publisher<ByteBuffer> publisher, long length) {
            this.publisher = publisher;
            this.length = length;
        }

        Flow.Publisher<ByteBuffer> publisher() {
            return publisher;
        }

        /** -1 when unknown. */
        long length() {
            return length;
        }

        @Override
        boolean replayable() {
            return false;
        }
    }
}
