package io.github.onewrite.internal;

import io.github.onewrite.Attempt;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingListener;

/** A listener of one call that is told more than its events: what a tracer needs while its span lives. */
public interface RecordListener extends TimingListener {
    /** The head is being written, or was just now, on this thread and in the scope of the span a tracer has made for it. */
    void onRequestWrite();

    /** Follows {@code connection_acquired}. */
    void onConnection(PooledConnection connection);

    /**
     * The headers of the response are complete, or the attempt is lost: a tracer may end its span next.
     *
     * @param soFar the attempt under way; what is still to come is absent, and the outcome is not known
     */
    void onProgress(Attempt soFar);

    /** The finished record; follows {@code call_end}. */
    void onRecord(Timing timing);
}
