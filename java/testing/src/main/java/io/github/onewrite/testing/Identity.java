package io.github.onewrite.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;

/** A key and its self-signed certificate for localhost, as the JDK's keytool makes them. */
public record Identity(KeyStore store, Path chainPem, Path keyPem) {
    private static final char[] PASSWORD = "password".toCharArray();

    private static Identity localhost;

    /** An identity for localhost, made once per process because keytool takes a second. */
    public static synchronized Identity localhost() throws Exception {
        if (localhost == null) {
            Path dir = Files.createTempDirectory("onewrite-localhost");
            dir.toFile().deleteOnExit();
            localhost = make(dir, "server", "CN=localhost");
            for (String ending : List.of("p12", "log", "pem", "key")) {
                dir.resolve("server." + ending).toFile().deleteOnExit();
            }
        }
        return localhost;
    }

    /** Makes an identity, and its PEM files in this folder. */
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
     * @param client the only client certificate to trust, or null for the JDK's trust store
     */
    public SSLContext serverContext(Identity client) throws Exception {
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(store, PASSWORD);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), client == null ? null : client.trust(), null);
        return context;
    }

    /** Trusts this identity alone. */
    public TrustManager[] trust() throws Exception {
        KeyStore known = KeyStore.getInstance(KeyStore.getDefaultType());
        known.load(null);
        known.setCertificateEntry("known", store.getCertificate(store.aliases().nextElement()));
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(known);
        return trust.getTrustManagers();
    }

    /** A TLS listener with the self-signed certificate of localhost. */
    public static ServerSocket listener() throws Exception {
        return localhost()
                .serverContext(null)
                .getServerSocketFactory()
                .createServerSocket(0, 50, InetAddress.getByName("localhost"));
    }
}
