package org.bouncycastle.tls;

import java.io.IOException;

/** By name and type the one of Bouncy Castle, whose errors extend it. */
public final class TlsException extends IOException {
    private static final long serialVersionUID = 1L;

    public TlsException(String message) {
        super(message);
    }
}
