package io.github.onewrite.client.internal;

import io.github.onewrite.client.NameResolver;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** A client's name lookups. The system's resolver blocks, so they run on these threads and not on an event loop. */
public final class Lookups {
    /** How many lookups run at a time; further ones wait within their connectTimeout. */
    public static final int THREADS = 16;

    private final NameResolver resolver;
    private final ThreadPoolExecutor threads =
            new ThreadPoolExecutor(THREADS, THREADS, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
                Thread thread = new Thread(task, "onewrite-dns");
                thread.setDaemon(true);
                return thread;
            });

    public Lookups(NameResolver resolver) {
        this.resolver = resolver;
        threads.allowCoreThreadTimeOut(true);
    }

    /** Runs a lookup. Throws {@link java.util.concurrent.RejectedExecutionException} once the client is closed. */
    void run(Runnable lookup) {
        threads.execute(lookup);
    }

    List<InetAddress> addresses(String host) throws UnknownHostException {
        List<InetAddress> found = resolver.resolve(host);
        if (found.isEmpty()) {
            throw new UnknownHostException(host + " has no address");
        }
        return found;
    }

    /** Lets lookups under way come to their end. */
    public void close() {
        threads.shutdown();
    }
}
