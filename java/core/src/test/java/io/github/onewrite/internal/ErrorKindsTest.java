package io.github.onewrite.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.github.onewrite.ErrorKind;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.ConnectException;
import java.net.ProtocolException;
import java.net.SocketException;
import java.nio.channels.UnresolvedAddressException;
import java.util.stream.Stream;
import org.bouncycastle.tls.TlsException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Types decide. A message does only as a whole. Rows of all languages, and errors of base libraries, are elsewhere. */
class ErrorKindsTest {
    private static final class Broken extends RuntimeException {
        private static final long serialVersionUID = 1L;

        @Override
        public synchronized Throwable getCause() {
            throw new IllegalStateException("no cause for you");
        }

        @Override
        public String getMessage() {
            throw new StackOverflowError();
        }
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
                Arguments.of(
                        ErrorKind.RESET,
                        new IOException("recvAddress(..) failed with error(-104): Connection reset by peer")),
                Arguments.of(ErrorKind.RESET, new IOException("recvAddress(..) failed: Connection reset by peer")),
                Arguments.of(
                        ErrorKind.CLOSED, new IOException("writevAddresses(..) failed with error(-32): Broken pipe")),
                Arguments.of(ErrorKind.CLOSED, new SocketException("Socket closed")),
                Arguments.of(ErrorKind.CONNECT, new SocketException("SOCKS: Connection refused")),
                Arguments.of(ErrorKind.CONNECT, new SocketException("SOCKS : authentication failed")),
                Arguments.of(ErrorKind.CONNECT, new SocketException("Malformed reply from SOCKS server")),
                Arguments.of(ErrorKind.CONNECT, new SocketException("Connection refused")),
                Arguments.of(ErrorKind.CONNECT, new SocketException("Network is unreachable: /203.0.113.1:80")),
                Arguments.of(ErrorKind.TIMEOUT, new IOException("Connection timed out")),
                Arguments.of(
                        ErrorKind.TIMEOUT,
                        new IOException("recvAddress(..) failed with error(-110): Connection timed out")),
                Arguments.of(ErrorKind.DNS, new UnresolvedAddressException()),
                Arguments.of(ErrorKind.PROTOCOL, new ProtocolException("Unexpected status line: closed")),
                Arguments.of(ErrorKind.OTHER, new IllegalArgumentException("a request that is refused")),
                Arguments.of(ErrorKind.CANCELLED, new InterruptedIOException("interrupted while it timed out")),
                Arguments.of(ErrorKind.TLS, new IOException(new TlsException("certificate_unknown(46)"))),
                Arguments.of(ErrorKind.OTHER, new Broken()));
    }

    @ParameterizedTest(name = "{0}: {1}")
    @MethodSource("errors")
    void kind(ErrorKind kind, Throwable error) {
        assertEquals(kind, ErrorKinds.of(error, any -> null));
    }
}
