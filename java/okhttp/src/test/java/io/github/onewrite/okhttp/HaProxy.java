package io.github.onewrite.okhttp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import okhttp3.OkHttpClient;

/** A real HAProxy that waits for whole bodies and answers by itself: one frontend in the clear, one with TLS 1.3. */
final class HaProxy implements AutoCloseable {
    private static final String PASSWORD = "password";

    private final Process process;
    private final int plainPort;
    private final int tlsPort;
    private final KeyStore trusted;

    HaProxy(Path dir) throws Exception {
        Path program = program();
        assumeTrue(program != null, "no haproxy on this machine: make -C bench setup installs it");
        trusted = certificate(dir);
        plainPort = freePort();
        tlsPort = freePort();
        Path config = Files.writeString(
                dir.resolve("haproxy.cfg"), """
                defaults
                    mode http
                    timeout connect 10s
                    timeout client 60s
                    timeout server 60s
                    option http-buffer-request
                frontend plain
                    bind 127.0.0.1:%d
                    http-request return status 200 content-type text/plain string ok
                frontend tls
                    bind 127.0.0.1:%d ssl crt %s alpn http/1.1 ssl-min-ver TLSv1.3
                    http-request return status 200 content-type text/plain string ok
                """.formatted(plainPort, tlsPort, dir.resolve("server.crt")));
        process = new ProcessBuilder(program.toString(), "-db", "-f", config.toString())
                .redirectErrorStream(true)
                .redirectOutput(dir.resolve("haproxy.log").toFile())
                .start();
        await(tlsPort, dir);
    }

    private static Path program() {
        for (String folder : (System.getenv("PATH") + ":/usr/sbin").split(":")) {
            Path candidate = Path.of(folder, "haproxy");
            if (Files.isExecutable(candidate)) {
                return candidate;
            }
        }
        return null;
    }

    private static int freePort() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return taken.getLocalPort();
        }
    }

    private static KeyStore certificate(Path dir) throws Exception {
        Path file = dir.resolve("server.p12");
        Path log = dir.resolve("keytool.log");
        Process keytool = new ProcessBuilder((Path.of(System.getProperty("java.home"), "bin", "keytool")
                                + " -genkeypair -storetype PKCS12 -alias server -keyalg EC -dname CN=localhost"
                                + " -ext san=dns:localhost,ip:127.0.0.1 -storepass " + PASSWORD + " -keystore " + file)
                        .split(" "))
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        assertTrue(keytool.waitFor(80, TimeUnit.SECONDS), "keytool was not over in 80 s");
        assertEquals(0, keytool.exitValue(), Files.readString(log));
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(file)) {
            keys.load(in, PASSWORD.toCharArray());
        }
        Files.writeString(
                dir.resolve("server.crt"),
                pem("CERTIFICATE", keys.getCertificate("server").getEncoded())
                        + pem(
                                "PRIVATE KEY",
                                keys.getKey("server", PASSWORD.toCharArray()).getEncoded()));
        KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
        trusted.load(null);
        trusted.setCertificateEntry("server", keys.getCertificate("server"));
        return trusted;
    }

    private static String pem(String what, byte[] der) {
        String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der);
        return "-----BEGIN " + what + "-----\n" + text + "\n-----END " + what + "-----\n";
    }

    private void await(int port, Path dir) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (true) {
            try (Socket up = new Socket(InetAddress.getLoopbackAddress(), port)) {
                assertTrue(up.isConnected());
                return;
            } catch (IOException e) {
                assertTrue(process.isAlive(), Files.readString(dir.resolve("haproxy.log")));
                assertTrue(System.nanoTime() < end, "haproxy did not listen in 30 s");
                Thread.sleep(20);
            }
        }
    }

    String plainUrl() {
        return "http://127.0.0.1:" + plainPort + "/";
    }

    String tlsUrl() {
        return "https://localhost:" + tlsPort + "/";
    }

    /** A builder that trusts this proxy. */
    OkHttpClient.Builder trusting() throws Exception {
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return new OkHttpClient.Builder()
                .sslSocketFactory(context.getSocketFactory(), (X509TrustManager) trust.getTrustManagers()[0]);
    }

    @Override
    public void close() throws InterruptedException {
        process.destroy();
        if (!process.waitFor(10, TimeUnit.SECONDS)) {
            process.destroyForcibly();
        }
    }
}
