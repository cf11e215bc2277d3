package io.github.onewrite;

import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * One attempt of a call: the request on one connection. A call has one, and a second when the request was sent again
 * or redirected. Times are in nanoseconds. What did not happen is empty, never 0 and never an older connection's value.
 *
 * <p>It does not change after the attempt has ended.
 */
public interface Attempt extends Phases {
    /** 0 for the first attempt of a call. */
    int index();

    Outcome outcome();

    /** Status of the final response. */
    OptionalInt status();

    /** Number of the connection, unique in this process; empty when none was acquired. */
    OptionalLong connId();

    /** Whether the connection had carried a request before; empty when none was acquired. */
    Optional<Boolean> reused();

    /** How long a reused connection had been idle. */
    OptionalLong idleNanos();

    /** Requests on the connection, this one included. */
    OptionalInt connRequests();

    /** {@code host:port} of the proxy that the connection goes through, or would have gone through; empty without one. */
    Optional<String> proxy();

    /** Bytes of head and body as HTTP sees them, before TLS. */
    OptionalLong bytesSent();

    /** Times bytes were handed to the transport. */
    OptionalInt writes();

    /** Bytes of the response body. */
    OptionalLong bytesReceived();

    default OptionalLong totalNanos() {
        return nanos(Phase.TOTAL);
    }

    /** Kernel evidence; empty where the transport cannot read it. */
    Optional<Kernel> kernel();

    /** Cause of a long wait; empty without kernel evidence, and when the wait was short. */
    Optional<Cause> cause();

    /** The attempt under the names common to all languages, as in {@link Timing#toMap}. */
    Map<String, Object> toMap();
}
