package io.github.onewrite.okhttp;

import java.io.IOException;
import java.io.OutputStream;
import javax.net.ssl.SSLSocket;

/**
 * A TLS socket of the JDK's whose plaintext can be joined before it is made into records.
 *
 * <p>TCP_NODELAY alone does not replace it: OkHttp writes 8 KiB at a time, so a body of 12 KB is three records and three
 * segments. Through a relay that leaves Nagle on, a third of such POSTs wait 40 ms again; joined, none does.
 */
final class JoiningSslSocket extends DelegatingSslSocket implements Joining {
    private final JoiningOutput output;

    /** @param size of the buffer, in bytes */
    JoiningSslSocket(SSLSocket socket, int size) throws IOException {
        super(socket);
        this.output = new JoiningOutput(socket.getOutputStream(), size);
    }

    @Override
    public JoiningOutput output() {
        return output;
    }

    @Override
    public OutputStream getOutputStream() {
        return output;
    }
}
