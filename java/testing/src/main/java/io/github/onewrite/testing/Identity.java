package io.github.onewrite.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;

/** A key and its self-signed certificate for localhost, as the JDK's keytool makes them. */
public record Identity(KeyStore store, Path chainPem) {
    private static final char[] PASSWORD = "password".toCharArray();

    private static Identity localhost;

    /** An identity for localhost, made once per process because keytool takes a second. */
    public static synchronized Identity localhost() throws Exception {
        if (localhost == null) {
            Path dir = Files.createTempDirectory("onewrite-localhost");
            dir.toFile().deleteOnExit();
            localhost = make(dir);
            for (String ending : List.of("p12", "log", "pem")) {
                dir.resolve("server." + ending).toFile().deleteOnExit();
            }
        }
        return localhost;
    }

    private static Identity make(Path dir) throws Exception {
        Path file = dir.resolve("server.p12");
        Path log = dir.resolve("server.log");
        Path keytool = Path.of(System.getProperty("java.home"), "bin", "keytool");
        String options = "-genkeypair -storetype PKCS12 -storepass " + new String(PASSWORD)
                + " -alias server -keyalg EC -dname CN=localhost -ext san=dns:localhost -keystore";
        List<String> command = new ArrayList<>(List.of(keytool.toString()));
        command.addAll(List.of(options.split(" ")));
        command.add(file.toString());
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        assertTrue(process.waitFor(80, TimeUnit.SECONDS), "keytool was not over in 80 s");
        assertEquals(0, process.exitValue(), Files.readString(log));
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(file)) {
            store.load(in, PASSWORD);
        }
        byte[] der = store.getCertificate("server").getEncoded();
        String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der);
        return new Identity(
                store,
                Files.writeString(
                        dir.resolve("server.pem"),
                        "-----BEGIN CERTIFICATE-----\n" + text + "\n-----END CERTIFICATE-----\n"));
    }

    /** Trusts this identity alone. */
    public TrustManager[] trust() throws Exception {
        KeyStore known = KeyStore.getInstance(KeyStore.getDefaultType());
        known.load(null);
        known.setCertificateEntry("known", store.getCertificate("server"));
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(known);
        return trust.getTrustManagers();
    }

    /** A TLS listener with the self-signed certificate of localhost. */
    public static ServerSocket listener() throws Exception {
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(localhost().store, PASSWORD);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), null, null);
        return context.getServerSocketFactory().createServerSocket(0, 50, InetAddress.getByName("localhost"));
    }
}
