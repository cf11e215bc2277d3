package io.github.onewrite.client.internal;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * The caller's future. When anyone else completes it, by cancel, orTimeout or complete, the call is cancelled and its
 * connection closed.
 */
public final class CallFuture<T> extends CompletableFuture<T> {
    private final @Nullable Executor executor;
    private volatile @Nullable Call call;

    public CallFuture(@Nullable Executor executor) {
        this.executor = executor;
    }

    /** Sets the call that is cancelled when somebody else completes this. */
    public void of(Call under) {
        call = under;
    }

    void succeed(T value) {
        if (executor == null) {
            super.complete(value);
        } else {
            finish(() -> super.complete(value));
        }
    }

    /** @param unwanted runs if the future was already completed from outside */
    void succeed(T value, Runnable unwanted) {
        finish(() -> {
            if (!super.complete(value)) {
                unwanted.run();
            }
        });
    }

    public void fail(Throwable why) {
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
            // The executor is full or shut down. Completing on the event loop is better than never.
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
        Call under = call;
        if (done && under != null) {
            under.cancel();
        }
        return done;
    }

    @Override
    public <U> CompletableFuture<U> newIncompleteFuture() {
        // Dependents are plain futures: cancelling one of them does not cancel the call.
        return new CompletableFuture<>();
    }
}
