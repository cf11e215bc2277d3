package io.github.onewrite.client;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/** A request body. Bytes are not copied: do not change them before the call has ended. */
public final class Body {
    private static final Body NONE = new Body(ByteBuffer.allocate(0), null, null, 0);

    /** One of the first three is set. */
    final @Nullable ByteBuffer bytes;

    final @Nullable Path file;
    final Flow.@Nullable Publisher<ByteBuffer> publisher;

    /** In bytes; -1 where it is unknown before the request is sent. */
    final long length;

    private Body(
            @Nullable ByteBuffer bytes,
            @Nullable Path file,
            Flow.@Nullable Publisher<ByteBuffer> publisher,
            long length) {
        this.bytes = bytes;
        this.file = file;
        this.publisher = publisher;
        this.length = length;
    }

    /** No body. POST, PUT and PATCH are sent with {@code Content-Length: 0}. */
    public static Body none() {
        return NONE;
    }

    public static Body of(byte[] bytes) {
        return new Body(ByteBuffer.wrap(bytes), null, null, bytes.length);
    }

    /** The text in UTF-8. */
    public static Body of(String text) {
        return of(text.getBytes(StandardCharsets.UTF_8));
    }

    /** The bytes between the buffer's position and limit, which stay as they are. */
    public static Body of(ByteBuffer buffer) {
        return new Body(buffer.asReadOnlyBuffer(), null, null, buffer.remaining());
    }

    /** A regular file. It is opened when the request is sent; its size then is the Content-Length. */
    public static Body ofFile(Path path) {
        return new Body(null, Objects.requireNonNull(path, "path"), null, -1);
    }

    /**
     * A stream of unknown length, sent chunked. A published buffer belongs to the client. A publisher must not block the
     * event loop that requests from it; those of the JDK, which may block, are read on a thread of their own.
     */
    public static Body ofPublisher(Flow.Publisher<ByteBuffer> publisher) {
        return new Body(null, null, Objects.requireNonNull(publisher, "publisher"), -1);
    }

    /**
     * A stream with a Content-Length. Its bytes are not counted: a publisher that brings more or fewer sends a broken
     * request.
     *
     * @param length in bytes, not negative
     */
    public static Body ofPublisher(Flow.Publisher<ByteBuffer> publisher, long length) {
        if (length < 0) {
            throw new IllegalArgumentException("length must be 0 or more, not " + length);
        }
        return new Body(null, null, Objects.requireNonNull(publisher, "publisher"), length);
    }
}
