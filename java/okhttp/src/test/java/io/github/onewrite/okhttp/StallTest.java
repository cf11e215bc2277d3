package io.github.onewrite.okhttp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
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
 * The stalls of OkHttp behind a real HAProxy, and their end. Stock and cured client take turns, and the difference of
 * their medians is what is judged: a delayed ACK is 40 ms, and a busy machine is slow for both.
 */
@EnabledOnOs(OS.LINUX)
class StallTest {
    private static final int ROUNDS = 15;
    private static final int ATTEMPTS = 3;

    /** Half of what Linux delays an ACK by at least. */
    private static final double HALF_A_STALL_MS = 20;

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

    private static double millis(OkHttpClient client, String url, int size) throws IOException {
        Request.Builder request = new Request.Builder().url(url);
        if (size > 0) {
            request.post(RequestBody.create(new byte[size], null));
        }
        long started = System.nanoTime();
        try (Response response = client.newCall(request.build()).execute()) {
            assertEquals("ok", response.body().string().strip());
        }
        return (System.nanoTime() - started) / 1e6;
    }

    /** What the cure saves: the median of the stock client less that of the cured one. */
    private static double saved(String url, int size, boolean fresh) throws Exception {
        OkHttpClient stock = stock();
        OkHttpClient cured = cured();
        double[] with = new double[ROUNDS];
        double[] without = new double[ROUNDS];
        for (int i = -3; i < ROUNDS; i++) {
            for (OkHttpClient client : List.of(stock, cured)) {
                if (fresh) {
                    client.connectionPool().evictAll();
                }
                double took = millis(client, url, size);
                if (i >= 0) {
                    (client == stock ? without : with)[i] = took;
                }
            }
        }
        Arrays.sort(with);
        Arrays.sort(without);
        return without[ROUNDS / 2] - with[ROUNDS / 2];
    }

    private static void savesAStall(String url, int size, boolean fresh) throws Exception {
        double[] saved = new double[ATTEMPTS];
        for (int i = 0; i < ATTEMPTS; i++) {
            saved[i] = saved(url, size, fresh);
            if (saved[i] >= HALF_A_STALL_MS) {
                return;
            }
        }
        assertTrue(false, () -> "milliseconds saved, of some 40: " + Arrays.toString(saved));
    }

    @Test
    void aGetOnAFreshTls13Connection() throws Exception {
        savesAStall(proxy.tlsUrl(), 0, true);
    }

    @Test
    void aPostOnAFreshTls13Connection() throws Exception {
        savesAStall(proxy.tlsUrl(), 200, true);
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
