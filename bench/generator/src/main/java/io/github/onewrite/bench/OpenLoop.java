package io.github.onewrite.bench;

import java.io.IOException;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;

/**
 * Sends requests at a constant rate whatever the server does, and counts each latency from the moment the request
 * was due. A slow answer thus delays the requests behind it, as it would delay the users behind it, instead of
 * silently asking less (coordinated omission).
 *
 * <p>Requests are due at fixed times, dealt out to the connections as they become free: request {@code n} is due at
 * {@code start + n / rate}. Its latency is {@code answered - due}; its service time is {@code answered - sent}. A
 * request that found its connection waiting and was still sent late is the generator's own lateness ({@code slip}):
 * when its 90th percentile is over 5 ms the run says nothing.
 *
 * <p>Usage: {@code OpenLoop URL --rate N --connections N --seconds N [--method POST] [--body-bytes 200] [--warmup 2]}.
 * Prints one JSON object. Exit status 0 when the run was made, 64 for a wrong command line.
 */
public final class OpenLoop {
    /** A request longer than this ends its connection; it is counted as an error. */
    static final int TIMEOUT_MS = 60_000;

    private static final long HIGHEST_US = TimeUnit.MINUTES.toMicros(5);

    private final URI url;
    private final byte[] request;
    private final double rate;
    private final int connections;
    private final long warmupNs;
    private final long seconds;
    private final AtomicLong next = new AtomicLong();

    private OpenLoop(URI url, String method, int bodyBytes, double rate, int connections, long seconds, long warmup) {
        this.url = url;
        this.rate = rate;
        this.connections = connections;
        this.seconds = seconds;
        this.warmupNs = TimeUnit.SECONDS.toNanos(warmup);
        this.request = request(url, method, bodyBytes);
    }

    private static byte[] request(URI url, String method, int bodyBytes) {
        String path = url.getRawPath() == null || url.getRawPath().isEmpty() ? "/" : url.getRawPath();
        String query = url.getRawQuery() == null ? "" : "?" + url.getRawQuery();
        StringBuilder text = new StringBuilder()
                .append(method).append(' ').append(path).append(query).append(" HTTP/1.1\r\n")
                .append("Host: ").append(url.getHost()).append(':').append(url.getPort()).append("\r\n");
        if (bodyBytes > 0) {
            text.append("Content-Type: application/octet-stream\r\nContent-Length: ").append(bodyBytes).append("\r\n");
        }
        text.append("\r\n").append("x".repeat(bodyBytes));
        return text.toString().getBytes(StandardCharsets.US_ASCII);
    }

    /** One connection's share of the run. Histograms are its own and added up at the end. */
    private final class Caller extends Thread {
        final Histogram latency = new Histogram(HIGHEST_US, 3);
        final Histogram service = new Histogram(HIGHEST_US, 3);
        final Histogram slip = new Histogram(HIGHEST_US, 3);
        long errors;
        String errorSample;
        long lastSent;
        private final long start;
        private final long end;
        private Connection connection;

        Caller(long start, long end) {
            this.start = start;
            this.end = end;
            setDaemon(true);
        }

        @Override
        public void run() {
            while (true) {
                long due = start + (long) (next.getAndIncrement() * 1e9 / rate);
                if (due >= end) {
                    break;
                }
                boolean waited = sleepUntil(due);
                long sent = System.nanoTime();
                String problem = call();
                long answered = System.nanoTime();
                if (due < start + warmupNs) {
                    continue;
                }
                lastSent = sent;
                if (waited) {
                    slip.recordValue(microseconds(sent - due));
                }
                if (problem != null) {
                    errors++;
                    errorSample = errorSample == null ? problem : errorSample;
                    continue;
                }
                latency.recordValue(microseconds(answered - due));
                service.recordValue(microseconds(answered - sent));
            }
            if (connection != null) {
                connection.close();
            }
        }

        /** Makes one request; returns what went wrong, or null. */
        private String call() {
            try {
                if (connection == null) {
                    connection = new Connection(url, TIMEOUT_MS);
                }
                int status = connection.exchange(request);
                return status < 400 ? null : "status " + status;
            } catch (IOException e) {
                if (connection != null) {
                    connection.close();
                    connection = null;
                }
                return e.toString();
            }
        }
    }

    /** Returns false when {@code due} has already passed: then nothing the generator did made it late. */
    private static boolean sleepUntil(long due) {
        if (System.nanoTime() >= due) {
            return false;
        }
        long left;
        while ((left = due - System.nanoTime()) > 0) {
            LockSupport.parkNanos(left);
        }
        return true;
    }

    private static long microseconds(long ns) {
        return Math.min(HIGHEST_US, Math.max(0, ns / 1000));
    }

    private void run(PrintStream out) throws InterruptedException {
        long start = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(50);
        long end = start + warmupNs + TimeUnit.SECONDS.toNanos(seconds);
        List<Caller> callers = new ArrayList<>();
        for (int i = 0; i < connections; i++) {
            Caller caller = new Caller(start, end);
            callers.add(caller);
            caller.start();
        }
        Histogram latency = new Histogram(HIGHEST_US, 3);
        Histogram service = new Histogram(HIGHEST_US, 3);
        Histogram slip = new Histogram(HIGHEST_US, 3);
        long errors = 0;
        String errorSample = null;
        long lastSent = start + warmupNs;
        for (Caller caller : callers) {
            caller.join();
            lastSent = Math.max(lastSent, caller.lastSent);
            latency.add(caller.latency);
            service.add(caller.service);
            slip.add(caller.slip);
            errors += caller.errors;
            errorSample = errorSample == null ? caller.errorSample : errorSample;
        }
        // From the first that was due to the last that was sent: how long the last answers took is latency, not rate.
        double took = (lastSent - start - warmupNs) / 1e9 + 1 / rate;
        out.printf(
                Locale.ROOT,
                "{\"generator\": \"built-in\", \"generator_version\": \"HdrHistogram 2.2.2, Java %s\", "
                        + "\"offered_rate\": %.3f, \"seconds\": %.3f, \"requests\": %d, \"errors\": %d, "
                        + "\"error_sample\": %s, \"slip_p90_us\": %d, \"latency\": %s, \"service\": %s}%n",
                Runtime.version().feature(),
                rate,
                took,
                latency.getTotalCount(),
                errors,
                quoted(errorSample),
                slip.getValueAtPercentile(90),
                json(latency),
                json(service));
        out.flush();
    }

    /** Mean, maximum and the percentile spectrum of a histogram of microseconds. */
    private static String json(Histogram histogram) {
        StringBuilder text = new StringBuilder();
        text.append(String.format(
                Locale.ROOT, "{\"mean_us\": %.1f, \"max_us\": %d, \"spectrum\": [",
                histogram.getTotalCount() == 0 ? 0.0 : histogram.getMean(),
                histogram.getMaxValue()));
        String separator = "";
        for (HistogramIterationValue value : histogram.percentiles(5)) {
            text.append(separator)
                    .append(String.format(
                            Locale.ROOT, "[%d, %.10f, %d]",
                            value.getValueIteratedTo(),
                            value.getPercentileLevelIteratedTo() / 100,
                            value.getTotalCountToThisValue()));
            separator = ", ";
        }
        return text.append("]}").toString();
    }

    private static String quoted(String text) {
        if (text == null) {
            return "null";
        }
        StringBuilder quoted = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                quoted.append('\\').append(c);
            } else {
                quoted.append(c < ' ' ? ' ' : c);
            }
        }
        return quoted.append('"').toString();
    }

    public static void main(String[] arguments) throws InterruptedException {
        String method = "POST";
        int bodyBytes = 200;
        double rate = 0;
        int connections = 0;
        long seconds = 0;
        long warmup = 2;
        URI url = null;
        try {
            for (int i = 0; i < arguments.length; i++) {
                switch (arguments[i]) {
                    case "--method" -> method = arguments[++i];
                    case "--body-bytes" -> bodyBytes = Integer.parseInt(arguments[++i]);
                    case "--rate" -> rate = Double.parseDouble(arguments[++i]);
                    case "--connections" -> connections = Integer.parseInt(arguments[++i]);
                    case "--seconds" -> seconds = Long.parseLong(arguments[++i]);
                    case "--warmup" -> warmup = Long.parseLong(arguments[++i]);
                    default -> url = URI.create(arguments[i]);
                }
            }
        } catch (IllegalArgumentException | ArrayIndexOutOfBoundsException e) {
            System.err.println("wrong argument: " + e.getMessage());
            System.exit(64);
        }
        if (url == null || url.getPort() < 0 || !(rate > 0) || connections < 1 || seconds < 1) {
            System.err.println("usage: OpenLoop http://HOST:PORT/PATH --rate N --connections N --seconds N"
                    + " [--method POST] [--body-bytes 200] [--warmup 2]");
            System.exit(64);
        }
        new OpenLoop(url, method, bodyBytes, rate, connections, seconds, warmup).run(System.out);
    }
}
