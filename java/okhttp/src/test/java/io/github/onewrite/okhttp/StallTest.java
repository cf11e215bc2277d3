package io.github.onewrite.okhttp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.net.SocketFactory;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import okhttp3.Call;
import okhttp3.Connection;
import okhttp3.EventListener;
import okhttp3.HttpUrl;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/**
 * The stalls of OkHttp behind a real HAProxy, and that they are gone with the customizer. Requests of the two clients
 * alternate, and the order within each pair is judged, not the time: without an effect a pair ends either way.
 */
@EnabledOnOs(OS.LINUX)
class StallTest {
    private static final int PAIRS = 300;

    /** Pairs won less pairs lost. Two equal clients reach this in 1.3 of 100 runs; a busy machine takes more pairs. */
    private static final int LEAD = 43;

    @TempDir
    static Path dir;

    private static HaProxy proxy;

    @BeforeAll
    static void start() throws Exception {
        proxy = new HaProxy(dir);
    }

    @AfterAll
    static void stop() throws Exception {
        if (proxy != null) {
            proxy.close();
        }
    }

    private static OkHttpClient stock() throws Exception {
        return proxy.trusting().build();
    }

    private static OkHttpClient cured() throws Exception {
        return OnewriteOkHttp.create().apply(proxy.trusting()).build();
    }

    /** Notes when the head of a request was written, and when that of its response was read. */
    private static final class Waited extends EventListener {
        private long asked;
        private long answered;

        @Override
        public void requestHeadersStart(Call call) {
            asked = System.nanoTime();
        }

        @Override
        public void responseHeadersEnd(Call call, Response response) {
            answered = System.nanoTime();
        }
    }

    /** From the request's head to the response's: a handshake takes longer than a stall on a busy machine. */
    private static double millis(OkHttpClient client, String url, int size) throws IOException {
        Request.Builder request = new Request.Builder().url(url);
        if (size > 0) {
            request.post(RequestBody.create(new byte[size], null));
        }
        Waited waited = new Waited();
        OkHttpClient listened = client.newBuilder().eventListener(waited).build();
        try (Response response = listened.newCall(request.build()).execute()) {
            assertEquals("ok", response.body().string().strip());
        }
        return (waited.answered - waited.asked) / 1e6;
    }

    private static void savesAStall(String url, int size, boolean fresh) throws Exception {
        OkHttpClient stock = stock();
        OkHttpClient cured = cured();
        int lead = 0;
        StringBuilder pairs = new StringBuilder();
        for (int i = -3; i < PAIRS && lead < LEAD; i++) {
            if (fresh) {
                stock.connectionPool().evictAll();
                cured.connectionPool().evictAll();
            }
            double without = millis(stock, url, size);
            double with = millis(cured, url, size);
            if (i >= 0) {
                lead += with < without ? 1 : -1;
                pairs.append(String.format(Locale.ROOT, "%.1f/%.1f ", without, with));
            }
        }
        int reached = lead;
        assertTrue(reached >= LEAD, () -> "a lead of " + reached + "; stock/onewrite in ms: " + pairs);
    }

    /** The cause of the difference, seen directly: TCP_NODELAY is on before the first byte of the handshake. */
    @Test
    void nodelayIsOnBeforeTheHandshake() throws Exception {
        List<Boolean> seen = new CopyOnWriteArrayList<>();
        SocketFactory watched = cured().socketFactory();
        try (Socket made = watched.createSocket()) {
            seen.add(made.getTcpNoDelay());
        }
        OkHttpClient client = cured().newBuilder()
                .eventListener(new EventListener() {
                    @Override
                    public void connectionAcquired(Call call, Connection connection) {
                        try {
                            seen.add(connection.socket().getTcpNoDelay());
                        } catch (SocketException e) {
                            seen.add(false);
                        }
                    }
                })
                .build();
        Request get = new Request.Builder().url(proxy.tlsUrl()).build();
        client.newCall(get).execute().close();
        assertEquals(List.of(true, true), seen);
    }

    @Test
    void aGetOnAFreshTls13Connection() throws Exception {
        savesAStall(proxy.tlsUrl(), 0, true);
    }

    @Test
    void aBodyOver8KiBOnAKeptConnection() throws Exception {
        savesAStall(proxy.plainUrl(), 10_000, false);
    }

    @Test
    void aBodyOver8KiBOnAKeptTlsConnection() throws Exception {
        savesAStall(proxy.tlsUrl(), 10_000, false);
    }

    /** Counted, not timed: the JDK's own record of writes to sockets. One, but for a connection made anew. */
    @Test
    void aBodyOver8KiBIsOneWrite() throws Exception {
        assertTrue(writesPerPost(cured(), proxy.plainUrl()) < 1.3);
        assertTrue(writesPerPost(stock(), proxy.plainUrl()) > 1, "the control writes more often");
        assertTrue(writesPerPost(cured(), proxy.tlsUrl()) < 1.3);
        assertTrue(writesPerPost(stock(), proxy.tlsUrl()) > 1, "the control writes more often");
    }

    private static double writesPerPost(OkHttpClient client, String url) throws Exception {
        int posts = 20;
        Path file = dir.resolve("writes.jfr");
        try (Recording recording = new Recording()) {
            millis(client, url, 10_000);
            recording.enable("jdk.SocketWrite").withThreshold(Duration.ZERO);
            recording.start();
            for (int i = 0; i < posts; i++) {
                millis(client, url, 10_000);
            }
            recording.stop();
            recording.dump(file);
        }
        int port = HttpUrl.get(url).port();
        List<RecordedEvent> writes = RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().equals("jdk.SocketWrite")
                        && event.getInt("port") == port
                        && event.getLong("bytesWritten") > 0)
                .toList();
        return (double) writes.size() / posts;
    }
}
