package io.github.onewrite;

import java.util.OptionalLong;

/** The lengths of an attempt's phases, in nanoseconds; empty where a phase did not happen. */
public abstract class Phases {
    Phases() {}

    /** The length of a phase in nanoseconds. */
    public abstract OptionalLong nanos(Phase phase);

    public OptionalLong queueNanos() {
        return nanos(Phase.QUEUE);
    }

    public OptionalLong dnsNanos() {
        return nanos(Phase.DNS);
    }

    public OptionalLong connectNanos() {
        return nanos(Phase.CONNECT);
    }

    public OptionalLong tlsNanos() {
        return nanos(Phase.TLS);
    }

    public OptionalLong sendNanos() {
        return nanos(Phase.SEND);
    }

    public OptionalLong waitNanos() {
        return nanos(Phase.WAIT);
    }

    public OptionalLong receiveNanos() {
        return nanos(Phase.RECEIVE);
    }
}
