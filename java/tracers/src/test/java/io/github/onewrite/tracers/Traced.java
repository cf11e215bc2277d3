package io.github.onewrite.tracers;

import java.util.List;
import java.util.concurrent.Callable;

/**
 * A client with a third party's tracer, meter or mock.
 *
 * @param post POSTs "hello", in pieces where the client can, and returns status and body: "200 ok"
 * @param records what the tracer has recorded, without what differs from run to run
 * @param end closes the client
 */
record Traced(Post post, Callable<List<String>> records, AutoCloseable end) implements AutoCloseable {
    /** When onewrite is applied. */
    enum Place {
        /** Never. */
        STOCK,
        /** After the tracer. */
        AFTER,
        /** Before the tracer. */
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
