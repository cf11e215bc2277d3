package io.github.onewrite.tracers;

import java.util.List;

/** A client with a tracer or a meter of somebody's in it. */
interface Traced extends AutoCloseable {
    /** Where onewrite is put. */
    enum Place {
        /** Nowhere. */
        STOCK,
        /** On a client that has the tracer. */
        AFTER,
        /** On a client that gets the tracer later. */
        BEFORE
    }

    /** POSTs "hello" in pieces where the client can, and answers "200 ok". */
    String post(String url) throws Exception;

    /** What the tracer has recorded, in words that are the same in each run. */
    List<String> recorded() throws Exception;

    @Override
    void close() throws Exception;
}
