package io.github.onewrite.spi;

import io.github.onewrite.Timing;

/**
 * Writes a flight recorder event per call, where the runtime has the module jdk.jfr and a recording wants it. Until the
 * process has made a recording {@link CallEvent} is not loaded: that starts JFR, which takes tens of milliseconds.
 */
final class FlightRecorder {
    private static final boolean PRESENT = present();

    private FlightRecorder() {}

    static boolean wantsCalls() {
        return recorded() && CallEvent.wanted();
    }

    static void commit(Timing timing) {
        if (recorded()) {
            CallEvent.commit(timing);
        }
    }

    private static boolean recorded() {
        return PRESENT && jdk.jfr.FlightRecorder.isInitialized();
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
