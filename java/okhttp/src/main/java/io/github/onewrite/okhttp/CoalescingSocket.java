package io.github.onewrite.okhttp;

import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A socket of the JDK's whose writes leave when they are flushed, or fill a buffer. */
final class CoalescingSocket extends Socket implements ClosingSocket {
    private final int size;
    private final CompletableFuture<Void> closed = new CompletableFuture<>();
    private @Nullable OutputStream joined;

    /** @param size of the buffer, in bytes */
    CoalescingSocket(int size) {
        this.size = size;
    }

    @Override
    public synchronized OutputStream getOutputStream() throws IOException {
        OutputStream out = joined;
        if (out == null) {
            out = new CoalescingOutput(super.getOutputStream(), size);
            joined = out;
        }
        return out;
    }

    @Override
    public void shutdownOutput() throws IOException {
        getOutputStream().flush();
        super.shutdownOutput();
    }

    @Override
    public CompletableFuture<Void> closed() {
        return closed;
    }

    @Override
    @SuppressWarnings("UnsynchronizedOverridesSynchronized") // who waits for the end is told outside the lock
    public void close() throws IOException {
        try {
            super.close();
        } finally {
            closed.complete(null);
        }
    }
}
