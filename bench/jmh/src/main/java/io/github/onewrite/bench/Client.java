package io.github.onewrite.bench;

/** A client with a kept connection, of which each benchmark makes POSTs. */
interface Client extends AutoCloseable {
    /** Makes a POST and returns a number of its answer. */
    int post() throws Exception;
}
