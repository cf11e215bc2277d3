package io.github.onewrite.netty;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * The caller's future. Whoever else completes it, by cancel, orTimeout or by hand, gives the call up: its connection is
 * closed.
 */
final class CallFuture<T> extends CompletableFuture<T> {
    private final @Nullable Executor executor;
    private volatile @Nullable Call call;

    CallFuture(@Nullable Executor executor) {
        this.executor = executor;
    }

    void belongsTo(Call owner) {
        call = owner;
    }

    void succeed(T value) {
        succeed(value, () -> {});
    }

    /** @param unwanted what to do when the future was completed from outside before */
    void succeed(T value, Runnable unwanted) {
        finish(() -> {
            if (!super.complete(value)) {
                unwanted.run();
            }
        });
    }

    void fail(Throwable why) {
        finish(() -> super.completeExceptionally(why));
    }

    private void finish(Runnable completion) {
        if (executor == null) {
            completion.run();
            return;
        }
        try {
            executor.execute(completion);
        } catch (RuntimeException e) {
            // It is full, or shut down. A future that never completes would be worse than the wrong thread.
            completion.run();
        }
    }

    @Override
    public boolean complete(T value) {
        return givenUp(super.complete(value));
    }

    @Override
    public boolean completeExceptionally(Throwable why) {
        return givenUp(super.completeExceptionally(why));
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        return givenUp(super.cancel(mayInterruptIfRunning));
    }

    private boolean givenUp(boolean done) {
        Call owner = call;
        if (done && owner != null) {
            owner.cancelFromAnywhere();
        }
        return done;
    }

    @Override
    public <U> CompletableFuture<U> newIncompleteFuture() {
        // Dependents are plain futures: cancelling one of them does not cancel the call.
        return new CompletableFuture<>();
    }
}
