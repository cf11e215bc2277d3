package io.github.onewrite.okhttp;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Joins the writes of a request that it was armed for; else each write passes as it is, so that HTTP/2, WebSockets and
 * tunnels are untouched. OkHttp writes a message in segments of 8 KiB (Okio's OutputStreamSink) and flushes at its end.
 *
 * <p>Owned by the thread that has the connection. Without a lock, because a write may block.
 */
final class JoiningOutput extends FilterOutputStream {
    /** Size of Okio's segments. OkHttp sends a full one at once, and may wait for the peer after it. */
    private static final int SEGMENT = 8192;

    /** Which bytes are held. */
    private enum Holds {
        NOTHING,
        /** The first write, which is the head, until the second one or the flush. */
        HEAD,
        /** Everything until the flush, in pieces of the buffer's size. */
        REQUEST
    }

    private final int size;
    private Holds holds = Holds.NOTHING;

    /** Made with the first byte that is held. */
    private byte @Nullable [] held;

    private int count;

    JoiningOutput(OutputStream out, int size) {
        super(out);
        this.size = size;
    }

    /**
     * A request comes next.
     *
     * @param inMemory whether writing the body runs no code of the caller
     */
    void join(boolean inMemory) {
        holds = inMemory ? Holds.REQUEST : Holds.HEAD;
    }

    /** The request failed: sends the held bytes, as OkHttp alone has sent them. */
    void fail() {
        try {
            pass();
        } catch (IOException e) {
            // The connection is lost: the request has failed already.
        }
    }

    @Override
    public void write(int value) throws IOException {
        write(new byte[] {(byte) value}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, bytes.length);
        if (holds == Holds.NOTHING) {
            out.write(bytes, offset, length);
            return;
        }
        boolean goesOn = holds == Holds.REQUEST || (count == 0 && length < Math.min(SEGMENT, size));
        int done = 0;
        while (done < length && (count > 0 || length - done < size)) {
            done += hold(bytes, offset + done, length - done);
        }
        if (!goesOn) {
            pass();
        }
        if (done < length) {
            out.write(bytes, offset + done, length - done);
        }
    }

    /** Holds what there is room for, and sends what is full. */
    private int hold(byte[] bytes, int offset, int length) throws IOException {
        byte[] buffer = held;
        if (buffer == null) {
            buffer = new byte[size];
            held = buffer;
        }
        int part = Math.min(length, size - count);
        System.arraycopy(bytes, offset, buffer, count, part);
        count += part;
        if (count == size) {
            emit();
        }
        return part;
    }

    /** Sends what is held, and holds no more. */
    private void pass() throws IOException {
        holds = Holds.NOTHING;
        emit();
    }

    private void emit() throws IOException {
        byte[] buffer = held;
        int ready = count;
        if (buffer != null && ready > 0) {
            // Gone whether the write succeeds or not: after half a write the connection is of no use.
            count = 0;
            out.write(buffer, 0, ready);
        }
    }

    @Override
    public void flush() throws IOException {
        pass();
        out.flush();
    }
}
