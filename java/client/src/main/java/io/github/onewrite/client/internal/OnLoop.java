package io.github.onewrite.client.internal;

import io.netty.channel.EventLoop;
import java.util.concurrent.RejectedExecutionException;

/** Tasks for an event loop that may have been shut down, with the client or by its owner. */
public final class OnLoop {
    private OnLoop() {}

    /** Runs the task on the loop. Returns false when the loop has been shut down. */
    public static boolean ifItRuns(EventLoop loop, Runnable task) {
        try {
            loop.execute(task);
            return true;
        } catch (RejectedExecutionException e) {
            return false;
        }
    }
}
