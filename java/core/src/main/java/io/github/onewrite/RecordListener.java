package io.github.onewrite;

/**
 * A listener of one call with what a tracer needs while its span is open. It gets the record and no events, so that none
 * are made for it.
 */
public interface RecordListener extends TimingListener {
    @Override
    default void onEvent(TimingEvent event) {}

    /** The head is being written, or has just been, on this thread and in the scope of the tracer's span. */
    void onRequestWrite();

    /**
     * The headers of the response are complete, or the attempt is lost: a tracer may end its span next.
     *
     * @param soFar the attempt under way; what is still to come is absent, and the outcome is not known
     */
    void onProgress(Attempt soFar);

    /** The finished record; follows {@code call_end}. */
    void onRecord(Timing timing);
}
