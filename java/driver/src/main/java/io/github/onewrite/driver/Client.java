package io.github.onewrite.driver;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** One open client of the kind this process drives. */
abstract class Client implements AutoCloseable {
    final Options options;

    /** The records of its hook; null without one. */
    final Recording recording;

    Client(Options options, Recording recording) {
        this.options = options;
        this.recording = recording;
    }

    /**
     * Sends a request.
     *
     * @param done completed with the reply, which also has the error
     * @return cancels the call
     */
    abstract Runnable start(Call call, Reply reply, CompletableFuture<Reply> done);

    /** Sends a request. The future completes normally: an error is part of the reply. */
    final CompletableFuture<Reply> send(Call call) {
        CompletableFuture<Reply> done = new CompletableFuture<>();
        Runnable cancel;
        try {
            cancel = start(call, new Reply(), done);
        } catch (Skip e) {
            throw e;
        } catch (RuntimeException refused) {
            return CompletableFuture.completedFuture(new Reply().failed(refused));
        }
        if (call.cancelAfterMs() >= 0) {
            CompletableFuture.delayedExecutor(call.cancelAfterMs(), TimeUnit.MILLISECONDS)
                    .execute(cancel);
        }
        return done;
    }

    /** Closes the client and its pooled connections. */
    @Override
    public abstract void close();
}
