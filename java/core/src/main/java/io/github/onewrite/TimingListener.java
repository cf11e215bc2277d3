package io.github.onewrite;

import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Follows a call step by step. Override the methods of the events you want, or {@link #onEvent} for all of them.
 *
 * <p>Methods run on the thread that carries the call, in order and never two at a time for one call. They are to be
 * fast, must not block and must not use the client they listen to. What they throw is swallowed, counted and logged
 * once; it never changes the request.
 *
 * <p>A listener given directly gets the events of all calls; one made by a {@link Factory} those of one call.
 *
 * @see TimingEvent TimingEvent for the order of events
 */
public interface TimingListener {

    /** Makes the listener of one call. */
    @FunctionalInterface
    interface Factory {
        /**
         * Called at the start of a call, on the caller's thread.
         *
         * @param tag the caller's own object given with the request, or null
         */
        TimingListener create(String method, String url, @Nullable Object tag);
    }

    /** A listener that passes each event to a consumer, for a {@link Factory} that needs no more. */
    static TimingListener of(Consumer<? super TimingEvent> events) {
        Objects.requireNonNull(events, "events");
        return new TimingListener() {
            @Override
            public void onEvent(TimingEvent event) {
                events.accept(event);
            }
        };
    }

    /** Called for each event. This default calls the method of that event; a catch-all overrides it. */
    default void onEvent(TimingEvent event) {
        if (event instanceof TimingEvent.CallStart e) {
            onCallStart(e);
        } else if (event instanceof TimingEvent.AttemptStart e) {
            onAttemptStart(e);
        } else if (event instanceof TimingEvent.QueueStart e) {
            onQueueStart(e);
        } else if (event instanceof TimingEvent.QueueEnd e) {
            onQueueEnd(e);
        } else if (event instanceof TimingEvent.DnsStart e) {
            onDnsStart(e);
        } else if (event instanceof TimingEvent.DnsEnd e) {
            onDnsEnd(e);
        } else if (event instanceof TimingEvent.ConnectStart e) {
            onConnectStart(e);
        } else if (event instanceof TimingEvent.ConnectEnd e) {
            onConnectEnd(e);
        } else if (event instanceof TimingEvent.TlsStart e) {
            onTlsStart(e);
        } else if (event instanceof TimingEvent.TlsEnd e) {
            onTlsEnd(e);
        } else if (event instanceof TimingEvent.ConnectionAcquired e) {
            onConnectionAcquired(e);
        } else if (event instanceof TimingEvent.RequestStart e) {
            onRequestStart(e);
        } else if (event instanceof TimingEvent.RequestEnd e) {
            onRequestEnd(e);
        } else if (event instanceof TimingEvent.Informational e) {
            onInformational(e);
        } else if (event instanceof TimingEvent.ResponseStart e) {
            onResponseStart(e);
        } else if (event instanceof TimingEvent.HeadersEnd e) {
            onHeadersEnd(e);
        } else if (event instanceof TimingEvent.ResponseEnd e) {
            onResponseEnd(e);
        } else if (event instanceof TimingEvent.ConnectionReleased e) {
            onConnectionReleased(e);
        } else if (event instanceof TimingEvent.AttemptEnd e) {
            onAttemptEnd(e);
        } else if (event instanceof TimingEvent.CallEnd e) {
            onCallEnd(e);
        }
    }

    /** A call began. */
    default void onCallStart(TimingEvent.CallStart event) {}

    /** An attempt began. */
    default void onAttemptStart(TimingEvent.AttemptStart event) {}

    /** No connection is free: the wait for one began. */
    default void onQueueStart(TimingEvent.QueueStart event) {}

    /** The wait for a connection is over. */
    default void onQueueEnd(TimingEvent.QueueEnd event) {}

    /** Resolving the name began. */
    default void onDnsStart(TimingEvent.DnsStart event) {}

    /** The name resolved, or did not. */
    default void onDnsEnd(TimingEvent.DnsEnd event) {}

    /** The TCP connect began. */
    default void onConnectStart(TimingEvent.ConnectStart event) {}

    /** The TCP connection is established, or failed. */
    default void onConnectEnd(TimingEvent.ConnectEnd event) {}

    /** The TLS handshake began. */
    default void onTlsStart(TimingEvent.TlsStart event) {}

    /** The TLS handshake ended. */
    default void onTlsEnd(TimingEvent.TlsEnd event) {}

    /** The attempt has its connection. */
    default void onConnectionAcquired(TimingEvent.ConnectionAcquired event) {}

    /** The first byte is handed to the kernel. */
    default void onRequestStart(TimingEvent.RequestStart event) {}

    /** The last write returned. */
    default void onRequestEnd(TimingEvent.RequestEnd event) {}

    /** An interim response (1xx) arrived; it does not end the wait. */
    default void onInformational(TimingEvent.Informational event) {}

    /** The first byte of the final response was read. */
    default void onResponseStart(TimingEvent.ResponseStart event) {}

    /** The final response's headers are complete. */
    default void onHeadersEnd(TimingEvent.HeadersEnd event) {}

    /** The last byte of the response was read. */
    default void onResponseEnd(TimingEvent.ResponseEnd event) {}

    /** The attempt gave its connection back. */
    default void onConnectionReleased(TimingEvent.ConnectionReleased event) {}

    /** An attempt ended. */
    default void onAttemptEnd(TimingEvent.AttemptEnd event) {}

    /** The call ended: the last event, exactly once. */
    default void onCallEnd(TimingEvent.CallEnd event) {}
}
