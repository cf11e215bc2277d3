package io.github.onewrite.tracers;

import java.util.List;
import java.util.concurrent.Callable;

/**
 * A client with a tracer or a meter of somebody's in it.
 *
 * @param post POSTs "hello", in pieces where the client can, and answers "200 ok"
 * @param records what the tracer has recorded, in words that are the same in each run
 * @param end closes the client
 */
record Traced(Post post, Callable<List<String>> records, AutoCloseable end) implements AutoCloseable {
    /** Where onewrite is put. */
    enum Place {
        /** Nowhere. */
        STOCK,
        /** On a client that has the tracer. */
        AFTER,
        /** On a client that gets the tracer later. */
        BEFORE
    }

    interface Post {
        String to(String url) throws Exception;
    }

    String post(String url) throws Exception {
        return post.to(url);
    }

    List<String> recorded() throws Exception {
        return records.call();
    }

    @Override
    public void close() throws Exception {
        end.close();
    }
}
