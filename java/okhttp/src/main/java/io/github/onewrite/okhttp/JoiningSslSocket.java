package io.github.onewrite.okhttp;

import java.io.IOException;
import java.io.OutputStream;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;

/**
 * A TLS socket of the JDK's whose plaintext can be joined before it is made into records.
 *
 * <p>TCP_NODELAY alone does not replace it: OkHttp writes 8 KiB at a time, so a body of 12 KB is three records and three
 * segments. Through a relay that leaves Nagle on, a third of such POSTs wait 40 ms again; joined, none does.
 */
final class JoiningSslSocket extends DelegatingSslSocket implements Joining {
    private final int size;
    private @Nullable JoiningOutput joined;

    /** @param size of the buffer, in bytes */
    JoiningSslSocket(SSLSocket socket, int size) {
        super(socket);
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

    @Override
    public void shutdownOutput() throws IOException {
        output().flush();
        super.shutdownOutput();
    }
}
