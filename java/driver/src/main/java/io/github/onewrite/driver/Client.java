package io.github.onewrite.driver;

import io.github.onewrite.Status;
import java.util.concurrent.CompletableFuture;

/** One open client of the kind this process drives. */
interface Client extends AutoCloseable {

    /** The state of the adapter in this client. */
    default Status status() {
        throw new Skip("this client has no state");
    }

    /** Sends one request. The future always completes normally: an error is part of the reply. */
    CompletableFuture<Reply> send(Call call);

    /** Closes the client and its pooled connections. */
    @Override
    void close();
}
