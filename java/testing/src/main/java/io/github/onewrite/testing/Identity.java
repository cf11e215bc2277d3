package io.github.onewrite.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** A key and its self-signed certificate for localhost, as the JDK's keytool makes them. */
public record Identity(KeyStore store, Path chainPem, Path keyPem) {
    private static final char[] PASSWORD = "password".toCharArray();

    /** Makes one in this folder. */
    public static Identity make(Path dir, String name, String distinguished) throws Exception {
        Path file = dir.resolve(name + ".p12");
        Path log = dir.resolve(name + ".log");
        Process process = new ProcessBuilder(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "keytool")
                                .toString(),
                        "-genkeypair",
                        "-keystore",
                        file.toString(),
                        "-storetype",
                        "PKCS12",
                        "-storepass",
                        new String(PASSWORD),
                        "-alias",
                        name,
                        "-keyalg",
                        "EC",
                        "-dname",
                        distinguished,
                        "-ext",
                        "san=dns:localhost"))
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        assertTrue(process.waitFor(80, TimeUnit.SECONDS), "keytool was not over in 80 s");
        assertEquals(0, process.exitValue(), Files.readString(log));
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(file)) {
            store.load(in, PASSWORD);
        }
        return new Identity(
                store,
                Files.writeString(
                        dir.resolve(name + ".pem"),
                        pem("CERTIFICATE", store.getCertificate(name).getEncoded())),
                Files.writeString(
                        dir.resolve(name + ".key"),
                        pem("PRIVATE KEY", store.getKey(name, PASSWORD).getEncoded())));
    }

    private static String pem(String what, byte[] der) {
        String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der);
        return "-----BEGIN " + what + "-----\n" + text + "\n-----END " + what + "-----\n";
    }

    /**
     * A context for a server with this identity.
     *
     * @param client who is let in, or null for all
     */
    public SSLContext serverContext(Identity client) throws Exception {
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(store, PASSWORD);
        TrustManagerFactory trust = null;
        if (client != null) {
            KeyStore known = KeyStore.getInstance(KeyStore.getDefaultType());
            known.load(null);
            Certificate certificate =
                    client.store().getCertificate(client.store().aliases().nextElement());
            known.setCertificateEntry("client", certificate);
            trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(known);
        }
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), trust == null ? null : trust.getTrustManagers(), null);
        return context;
    }

    /** A TLS listener that says it is localhost, whose certificate nobody has signed. */
    public static ServerSocket listener(Path dir) throws Exception {
        return make(dir, "server", "CN=localhost")
                .serverContext(null)
                .getServerSocketFactory()
                .createServerSocket(0, 50, InetAddress.getByName("localhost"));
    }
}
