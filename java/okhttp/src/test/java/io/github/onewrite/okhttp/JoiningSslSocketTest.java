package io.github.onewrite.okhttp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.StandardSocketOptions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Every method is forwarded to the JDK's socket. */
class JoiningSslSocketTest {
    /** Methods that start a handshake, return a new object each time, or belong to the wrapper. */
    private static final Set<String> NOT_COMPARED =
            Set.of("getSession", "getSSLParameters", "getOutputStream", "getClass", "getApplicationProtocol");

    private ServerSocket listener;
    private SSLSocket behind;
    private JoiningSslSocket socket;

    @BeforeEach
    void open() throws Exception {
        listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Socket plain = new Socket(listener.getInetAddress(), listener.getLocalPort());
        SSLSocketFactory factory = (SSLSocketFactory) SSLSocketFactory.getDefault();
        behind = (SSLSocket) factory.createSocket(plain, "localhost", listener.getLocalPort(), true);
        socket = new JoiningSslSocket(behind, 16384);
    }

    @AfterEach
    void close() throws Exception {
        socket.close();
        listener.close();
        assertTrue(behind.isClosed());
    }

    /** The result, or the exception, in a comparable form. */
    private static Object asked(SSLSocket of, Method what, Object... with) throws IllegalAccessException {
        try {
            Object answer = what.invoke(of, with);
            return answer instanceof Object[] array ? Arrays.asList(array) : String.valueOf(answer);
        } catch (InvocationTargetException e) {
            return e.getCause().getClass() + ": " + e.getCause().getMessage();
        }
    }

    @Test
    void everyGetter() throws Exception {
        List<String> compared = new ArrayList<>();
        for (Method method : SSLSocket.class.getMethods()) {
            String name = method.getName();
            boolean getter = name.startsWith("get") || name.startsWith("is") || name.startsWith("supported");
            if (getter && method.getParameterCount() == 0 && !NOT_COMPARED.contains(name)) {
                assertEquals(asked(behind, method), asked(socket, method), name);
                compared.add(name);
            }
        }
        assertTrue(compared.size() > 30, compared::toString);
        assertEquals(behind.toString(), socket.toString());
    }

    @Test
    void everySetter() throws Exception {
        List<String> compared = new ArrayList<>();
        for (Method method : SSLSocket.class.getMethods()) {
            String name = method.getName();
            Class<?>[] types = method.getParameterTypes();
            if (!name.startsWith("set") || types.length != 1 || !(types[0] == boolean.class || types[0] == int.class)) {
                continue;
            }
            Method getter = SSLSocket.class.getMethod("get" + name.substring(3));
            Object before = asked(behind, getter);
            Object value = types[0] == int.class ? (Object) 20_008 : (Object) !Boolean.parseBoolean("" + before);
            if (name.equals("setTrafficClass")) {
                value = 8;
            }
            Object said = asked(socket, method, value);
            if (said.equals("null")) {
                assertNotEquals(before, asked(behind, getter), name + " has changed nothing");
            } else {
                assertEquals(asked(behind, method, value), said, name);
            }
            assertEquals(asked(behind, getter), asked(socket, getter), name);
            compared.add(name);
        }
        assertTrue(compared.size() >= 12, compared::toString);
    }

    @Test
    void theOthers() throws Exception {
        String[] protocols = {"TLSv1.2"};
        socket.setEnabledProtocols(protocols);
        assertArrayEquals(protocols, behind.getEnabledProtocols());
        String[] suites = {socket.getSupportedCipherSuites()[0]};
        socket.setEnabledCipherSuites(suites);
        assertArrayEquals(suites, behind.getEnabledCipherSuites());
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setApplicationProtocols(new String[] {"http/1.1"});
        socket.setSSLParameters(parameters);
        assertArrayEquals(new String[] {"http/1.1"}, behind.getSSLParameters().getApplicationProtocols());
        socket.setHandshakeApplicationProtocolSelector((of, offered) -> offered.get(0));
        assertSame(behind.getHandshakeApplicationProtocolSelector(), socket.getHandshakeApplicationProtocolSelector());
        socket.setSoLinger(true, 7);
        assertEquals(7, behind.getSoLinger());
        socket.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
        assertEquals(true, behind.getOption(StandardSocketOptions.SO_KEEPALIVE));
        assertEquals(true, socket.getOption(StandardSocketOptions.SO_KEEPALIVE));
        assertEquals(listener.getLocalPort(), socket.getPort());
        assertFalse(socket.isInputShutdown());
        socket.shutdownInput();
        assertTrue(behind.isInputShutdown());
    }
}
