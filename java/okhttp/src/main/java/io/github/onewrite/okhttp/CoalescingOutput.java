package io.github.onewrite.okhttp;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Holds bytes until a flush, or until its buffer is full. OkHttp hands a message over in segments of 8 KiB, each a write
 * (Okio's OutputStreamSink), and flushes where it ends; so what is held here leaves together, the first buffer full.
 */
final class CoalescingOutput extends OutputStream {
    private final OutputStream out;
    private final int size;

    /** Made with the first byte: TLS that is layered on a socket brings its records whole. */
    private byte @Nullable [] held;

    private int count;

    CoalescingOutput(OutputStream out, int size) {
        this.out = out;
        this.size = size;
    }

    @Override
    public synchronized void write(int value) throws IOException {
        write(new byte[] {(byte) value}, 0, 1);
    }

    @Override
    public synchronized void write(byte[] bytes, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, bytes.length);
        int from = offset;
        int left = length;
        while (left > 0) {
            if (count == 0 && left >= size) {
                out.write(bytes, from, left);
                return;
            }
            byte[] buffer = held;
            if (buffer == null) {
                buffer = new byte[size];
                held = buffer;
            }
            int part = Math.min(left, size - count);
            System.arraycopy(bytes, from, buffer, count, part);
            count += part;
            from += part;
            left -= part;
            if (count == size) {
                emit();
            }
        }
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
    public synchronized void flush() throws IOException {
        emit();
        out.flush();
    }

    @Override
    public void close() throws IOException {
        try {
            flush();
        } finally {
            out.close();
        }
    }
}
