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

    default void onCallStart(TimingEvent.CallStart event) {}

    default void onAttemptStart(TimingEvent.AttemptStart event) {}

    default void onQueueStart(TimingEvent.QueueStart event) {}

    default void onQueueEnd(TimingEvent.QueueEnd event) {}

    default void onDnsStart(TimingEvent.DnsStart event) {}

    default void onDnsEnd(TimingEvent.DnsEnd event) {}

    default void onConnectStart(TimingEvent.ConnectStart event) {}

    default void onConnectEnd(TimingEvent.ConnectEnd event) {}

    default void onTlsStart(TimingEvent.TlsStart event) {}

    default void onTlsEnd(TimingEvent.TlsEnd event) {}

    default void onConnectionAcquired(TimingEvent.ConnectionAcquired event) {}

    default void onRequestStart(TimingEvent.RequestStart event) {}

    default void onRequestEnd(TimingEvent.RequestEnd event) {}

    default void onInformational(TimingEvent.Informational event) {}

    default void onResponseStart(TimingEvent.ResponseStart event) {}

    default void onHeadersEnd(TimingEvent.HeadersEnd event) {}

    default void onResponseEnd(TimingEvent.ResponseEnd event) {}

    default void onConnectionReleased(TimingEvent.ConnectionReleased event) {}

    default void onAttemptEnd(TimingEvent.AttemptEnd event) {}

    default void onCallEnd(TimingEvent.CallEnd event) {}
}
