package io.github.onewrite.driver;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** What all clients have in common: a reply, a recording where there are hooks, and the time to cancel. */
abstract class Library implements Client {
    final Options options;

    Library(Options options) {
        this.options = options;
    }

    /**
     * Sends a request.
     *
     * @param recording null without hooks
     * @param done completed with the reply, which also has the error
     * @return cancels the call
     */
    abstract Runnable start(Call call, Recording recording, Reply reply, CompletableFuture<Reply> done);

    @Override
    public final CompletableFuture<Reply> send(Call call) {
        Recording recording = Recording.of(options);
        CompletableFuture<Reply> done = new CompletableFuture<>();
        Runnable cancel = start(call, recording, new Reply(), done);
        if (call.cancelAfterMs() >= 0) {
            CompletableFuture.delayedExecutor(call.cancelAfterMs(), TimeUnit.MILLISECONDS)
                    .execute(cancel);
        }
        return (recording == null ? done : recording.joinTo(done)).thenApply(call::settled);
    }
}
