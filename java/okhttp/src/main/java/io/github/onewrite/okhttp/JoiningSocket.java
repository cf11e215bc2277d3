package io.github.onewrite.okhttp;

import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import org.jspecify.annotations.Nullable;

/** A socket of the JDK's whose writes can be joined. */
final class JoiningSocket extends Socket implements Joining {
    private final int size;
    private @Nullable JoiningOutput joined;

    /** @param size of the buffer, in bytes */
    JoiningSocket(int size) {
        this.size = size;
    }

    @Override
    public synchronized JoiningOutput output() throws IOException {
        JoiningOutput out = joined;
        if (out == null) {
            out = new JoiningOutput(super.getOutputStream(), size);
            joined = out;
        }
        return out;
    }

    @Override
    public OutputStream getOutputStream() throws IOException {
        return output();
    }
}
