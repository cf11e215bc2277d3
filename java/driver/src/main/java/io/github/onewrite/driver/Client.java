package io.github.onewrite.driver;

import io.github.onewrite.Status;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** One open client of the kind this process drives. */
abstract class Client implements AutoCloseable {
    final Options options;

    Client(Options options) {
        this.options = options;
    }

    /** The state of the adapter in this client. */
    Status status() {
        throw new Skip("this client has no state");
    }

    /**
     * Sends a request.
     *
     * @param recording null without hooks
     * @param done completed with the reply, which also has the error
     * @return cancels the call
     */
    abstract Runnable start(Call call, Recording recording, Reply reply, CompletableFuture<Reply> done);

    /** Sends a request. The future completes normally: an error is part of the reply. */
    final CompletableFuture<Reply> send(Call call) {
        Recording recording = Recording.of(options);
        CompletableFuture<Reply> done = new CompletableFuture<>();
        Runnable cancel = start(call, recording, new Reply(), done);
        if (call.cancelAfterMs() >= 0) {
            CompletableFuture.delayedExecutor(call.cancelAfterMs(), TimeUnit.MILLISECONDS)
                    .execute(cancel);
        }
        return (recording == null ? done : recording.joinTo(done)).thenApply(call::settled);
    }

    /** Closes the client and its pooled connections. */
    @Override
    public abstract void close();
}
