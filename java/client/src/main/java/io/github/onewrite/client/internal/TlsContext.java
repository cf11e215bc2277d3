package io.github.onewrite.client.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.netty.handler.ssl.SslContext;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** The TLS context of a client. Reading the JDK's trust store takes some 100 ms: it is done for the first https call. */
public final class TlsContext {
    /** Makes the context. */
    public interface Maker {
        SslContext make() throws SSLException;
    }

    private final Maker maker;
    private volatile @Nullable SslContext context;

    public TlsContext(Maker maker) {
        this.maker = maker;
    }

    /** First called on the caller's thread, so that no event loop has to build it. */
    public SslContext get() throws OnewriteException {
        SslContext ready = context;
        return ready == null ? make() : ready;
    }

    private synchronized SslContext make() throws OnewriteException {
        SslContext made = context;
        if (made == null) {
            try {
                made = maker.make();
            } catch (SSLException e) {
                throw new OnewriteException(ErrorKind.TLS, "the JDK's trust store cannot be used: " + e, e);
            }
            context = made;
        }
        return made;
    }
}
