package io.github.onewrite.client;

import io.github.onewrite.client.internal.BodySource;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.Flow;

/** A request body. Bytes are not copied: leave them alone until the call is over. */
public final class Body {
    private static final Body NONE = new Body(new BodySource.Bytes(ByteBuffer.allocate(0)));

    private final BodySource source;

    private Body(BodySource source) {
        this.source = source;
    }

    /** No body. Methods that usually have one are sent with {@code Content-Length: 0}. */
    public static Body none() {
        return NONE;
    }

    public static Body of(byte[] bytes) {
        return bytes.length == 0 ? NONE : new Body(new BodySource.Bytes(ByteBuffer.wrap(bytes)));
    }

    /** The text in UTF-8. */
    public static Body of(String text) {
        return of(text.getBytes(StandardCharsets.UTF_8));
    }

    /** The bytes between the buffer's position and limit, which stay as they are. */
    public static Body of(ByteBuffer buffer) {
        return new Body(new BodySource.Bytes(buffer.asReadOnlyBuffer()));
    }

    /** A regular file. Opened when the request is sent; its size then is the Content-Length. */
    public static Body ofFile(Path path) {
        return new Body(new BodySource.OfFile(Objects.requireNonNull(path, "path")));
    }

    /** A stream of unknown length, sent chunked. Buffers belong to the client once published. */
    public static Body ofPublisher(Flow.Publisher<ByteBuffer> publisher) {
        return new Body(new BodySource.Published(Objects.requireNonNull(publisher, "publisher"), -1));
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
        return new Body(new BodySource.Published(Objects.requireNonNull(publisher, "publisher"), length));
    }

    BodySource source() {
        return source;
    }
}
