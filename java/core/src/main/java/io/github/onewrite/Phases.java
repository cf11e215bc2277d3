package io.github.onewrite;

import java.util.OptionalLong;

/** The lengths of an attempt's phases, in nanoseconds; empty where a phase did not happen. */
public interface Phases {
    /** The length of a phase in nanoseconds. */
    OptionalLong nanos(Phase phase);

    default OptionalLong queueNanos() {
        return nanos(Phase.QUEUE);
    }

    default OptionalLong dnsNanos() {
        return nanos(Phase.DNS);
    }

    default OptionalLong connectNanos() {
        return nanos(Phase.CONNECT);
    }

    default OptionalLong tlsNanos() {
        return nanos(Phase.TLS);
    }

    default OptionalLong sendNanos() {
        return nanos(Phase.SEND);
    }

    default OptionalLong waitNanos() {
        return nanos(Phase.WAIT);
    }

    default OptionalLong receiveNanos() {
        return nanos(Phase.RECEIVE);
    }
}
