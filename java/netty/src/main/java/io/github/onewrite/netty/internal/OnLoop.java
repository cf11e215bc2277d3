package io.github.onewrite.netty.internal;

import io.netty.channel.EventLoop;
import java.util.concurrent.RejectedExecutionException;

/** Tasks from other threads, for an event loop that may have been shut down: with the client, or by its owner. */
public final class OnLoop {
    private OnLoop() {}

    /** Hands the task over, or answers false when the loop takes none any more: what lived on it is gone. */
    public static boolean ifItRuns(EventLoop loop, Runnable task) {
        try {
            loop.execute(task);
            return true;
        } catch (RejectedExecutionException e) {
            return false;
        }
    }
}
