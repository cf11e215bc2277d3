package io.github.onewrite.okhttp;

import java.util.concurrent.CompletableFuture;

/** A socket that says when it is closed. */
interface ClosingSocket {
    CompletableFuture<Void> closed();
}
