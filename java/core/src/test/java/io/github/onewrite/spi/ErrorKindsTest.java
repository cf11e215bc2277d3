package io.github.onewrite.spi;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.github.onewrite.ErrorKind;
import java.io.IOException;
import java.net.ConnectException;
import java.net.ProtocolException;
import java.net.SocketException;
import java.util.stream.Stream;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Types decide. A message does only as a whole, and only that of a library; table rows of all languages are elsewhere. */
class ErrorKindsTest {
    /** As in Netty, whose package core does not depend on. */
    private static final class DecoderException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        DecoderException(Throwable cause) {
            super(cause);
        }
    }

    private static final class PrematureCloseException extends IOException {
        private static final long serialVersionUID = 1L;
    }

    static Stream<Arguments> errors() {
        return Stream.of(
                Arguments.of(
                        ErrorKind.CONNECT, new ConnectException("Connection refused: acquire.localhost/127.0.0.1:1")),
                Arguments.of(ErrorKind.OTHER, new IllegalStateException("the shop is closed on Sundays")),
                Arguments.of(ErrorKind.OTHER, new IOException("the shop is closed on Sundays")),
                Arguments.of(ErrorKind.OTHER, new IllegalStateException("Canceled")),
                Arguments.of(ErrorKind.OTHER, new IllegalStateException("Connection reset by peer")),
                Arguments.of(ErrorKind.OTHER, new IOException("connection reset counter is at 3")),
                Arguments.of(ErrorKind.OTHER, new IOException()),
                Arguments.of(ErrorKind.POOL, new IllegalStateException("Too many outstanding acquire operations")),
                Arguments.of(
                        ErrorKind.RESET,
                        new IOException("recvAddress(..) failed with error(-104): Connection reset by peer")),
                Arguments.of(ErrorKind.RESET, new IOException("recvAddress(..) failed: Connection reset by peer")),
                Arguments.of(
                        ErrorKind.CLOSED, new IOException("writevAddresses(..) failed with error(-32): Broken pipe")),
                Arguments.of(ErrorKind.CLOSED, new SocketException("Socket closed")),
                Arguments.of(ErrorKind.CLOSED, new ProtocolException("unexpected end of stream")),
                Arguments.of(ErrorKind.PROTOCOL, new ProtocolException("Unexpected status line: closed")),
                Arguments.of(ErrorKind.CLOSED, new PrematureCloseException()),
                Arguments.of(ErrorKind.PROTOCOL, new DecoderException(new IllegalArgumentException("x"))),
                Arguments.of(ErrorKind.TLS, new DecoderException(new SSLHandshakeException("x"))));
    }

    @ParameterizedTest(name = "{0}: {1}")
    @MethodSource("errors")
    void kind(ErrorKind kind, Throwable error) {
        assertEquals(kind, ErrorKinds.of(error));
    }
}
