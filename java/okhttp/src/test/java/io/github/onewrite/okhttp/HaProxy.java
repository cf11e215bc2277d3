package io.github.onewrite.okhttp;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.onewrite.testing.Identity;
import io.github.onewrite.testing.TestServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;
import okhttp3.OkHttpClient;

/** A real HAProxy that buffers whole requests and answers them itself: one plain frontend, one with TLS 1.3. */
final class HaProxy implements AutoCloseable {
    private final Process process;
    private final int plainPort;
    private final int tlsPort;
    private final Identity identity;

    HaProxy(Path dir) throws Exception {
        Path program = program();
        assumeTrue(program != null, "no haproxy on this machine: make -C bench setup installs it");
        identity = Identity.localhost();
        Path certificate = Files.writeString(
                dir.resolve("server.crt"), Files.readString(identity.chainPem()) + Files.readString(identity.keyPem()));
        // HAProxy sets SO_REUSEPORT.
        plainPort = TestServer.unusedPort();
        tlsPort = TestServer.unusedPort();
        Path config = Files.writeString(dir.resolve("haproxy.cfg"), """
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
                """.formatted(plainPort, tlsPort, certificate));
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

    /** A client builder that trusts this proxy's certificate. */
    OkHttpClient.Builder trusting() throws Exception {
        TrustManager[] trust = identity.trust();
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust, null);
        return new OkHttpClient.Builder().sslSocketFactory(context.getSocketFactory(), (X509TrustManager) trust[0]);
    }

    @Override
    public void close() throws InterruptedException {
        process.destroy();
        if (!process.waitFor(10, TimeUnit.SECONDS)) {
            process.destroyForcibly();
        }
    }
}
