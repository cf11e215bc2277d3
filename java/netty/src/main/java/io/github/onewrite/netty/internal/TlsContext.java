package io.github.onewrite.netty.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** The TLS context of a client. Reading the JDK's trust store takes some 100 ms: it is done for the first https call. */
public final class TlsContext {
    private volatile @Nullable SslContext context;

    private TlsContext(@Nullable SslContext context) {
        this.context = context;
    }

    public static TlsContext of(SslContext given) {
        return new TlsContext(given);
    }

    public static TlsContext ofJdk() {
        return new TlsContext(null);
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
                made = SslContextBuilder.forClient().build();
            } catch (SSLException e) {
                throw new OnewriteException(ErrorKind.TLS, "the JDK's trust store cannot be used: " + e, e);
            }
            context = made;
        }
        return made;
    }
}
