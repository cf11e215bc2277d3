package io.github.onewrite.netty;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** The caller's future. Cancelling it gives the call up and closes its connection. */
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
        if (executor == null) {
            complete(value);
        } else {
            executor.execute(() -> complete(value));
        }
    }

    void fail(Throwable why) {
        if (executor == null) {
            completeExceptionally(why);
        } else {
            executor.execute(() -> completeExceptionally(why));
        }
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        boolean cancelled = super.cancel(mayInterruptIfRunning);
        Call owner = call;
        if (cancelled && owner != null) {
            owner.cancelFromAnywhere();
        }
        return cancelled;
    }

    @Override
    public <U> CompletableFuture<U> newIncompleteFuture() {
        // Dependents are plain futures: cancelling one of them does not cancel the call.
        return new CompletableFuture<>();
    }
}
