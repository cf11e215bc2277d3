package io.github.onewrite.internal;

import io.github.onewrite.Timing;

/** Writes a flight recorder event per call, where the runtime has the module jdk.jfr and a recording wants it. */
final class FlightRecorder {
    private static final boolean PRESENT = present();

    private FlightRecorder() {}

    static boolean wantsCalls() {
        return PRESENT && CallEvent.wanted();
    }

    static void commit(Timing timing) {
        if (PRESENT) {
            CallEvent.commit(timing);
        }
    }

    private static boolean present() {
        try {
            Class.forName("jdk.jfr.Event");
            return true;
        } catch (ClassNotFoundException | LinkageError e) {
            return false;
        }
    }
}
