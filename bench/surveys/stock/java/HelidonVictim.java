import io.helidon.common.socket.SocketOptions;
import io.helidon.webclient.api.WebClient;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Helidon's WebClient as people use it: a streamed body of 8,000 bytes in two writes.
 * usage: java -cp 'libs/*' HelidonVictim.java URL COUNT [--cured]     (Java 21 or newer)
 */
final class HelidonVictim {
    private static final int WARM_UP = 16;

    public static void main(String[] args) throws Exception {
        String url = args[0];
        int count = Integer.parseInt(args[1]);
        boolean cured = args.length > 2;
        var builder = WebClient.builder().baseUri(url);
        if (cured) {
            builder.socketOptions(SocketOptions.builder().tcpNoDelay(true).build());
        }
        WebClient client = builder.build();
        byte[] half = new byte[4000];
        List<String> times = new ArrayList<>();
        for (int turn = 0; turn < WARM_UP + count; turn++) {
            long started = System.nanoTime();
            try (var response = client.post().outputStream(out -> send(out, half))) {
                response.as(byte[].class);
            }
            long elapsed = System.nanoTime() - started;
            if (turn >= WARM_UP) {
                times.add(String.format(Locale.ROOT, "%.3f", elapsed / 1e6));
            }
        }
        String version = WebClient.class.getPackage().getImplementationVersion();
        System.out.println("{\"version\": \"" + (version == null ? "4.5.0" : version) + "\", \"times_ms\": " + times + "}");
        System.exit(0);
    }

    private static void send(OutputStream out, byte[] half) throws java.io.IOException {
        try (out) {
            out.write(half);
            out.write(half);
        }
    }
}
