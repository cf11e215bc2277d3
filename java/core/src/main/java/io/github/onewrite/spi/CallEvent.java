package io.github.onewrite.spi;

import io.github.onewrite.Phase;
import io.github.onewrite.Timing;
import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/** One HTTP call in a flight recording, committed at its end. Absent phases are -1. */
@Name("io.github.onewrite.Call")
@Label("HTTP call")
@Category({"onewrite"})
@Description("One HTTP call with its phases; committed when the call ends")
@StackTrace(false)
final class CallEvent extends Event {
    /** Used to ask whether a recording is enabled, without an allocation per call. */
    private static final CallEvent ANY = new CallEvent();

    @Label("Method")
    String method = "";

    @Label("URL")
    String url = "";

    @Label("Status")
    int status = -1;

    @Label("Outcome")
    String outcome = "";

    @Label("Cause of a long wait")
    String cause = "";

    @Label("Attempts")
    int attempts;

    @Label("Connection reused")
    boolean reused;

    @Label("Total")
    @Timespan
    long total;

    @Label("Queue")
    @Timespan
    long queue = -1;

    @Label("DNS")
    @Timespan
    long dns = -1;

    @Label("Connect")
    @Timespan
    long connect = -1;

    @Label("TLS")
    @Timespan
    long tls = -1;

    @Label("Send")
    @Timespan
    long send = -1;

    @Label("Wait")
    @Timespan
    long await = -1;

    @Label("Receive")
    @Timespan
    long receive = -1;

    static boolean wanted() {
        return ANY.isEnabled();
    }

    static void commit(Timing timing) {
        CallEvent event = new CallEvent();
        if (!event.shouldCommit()) {
            return;
        }
        event.method = timing.method();
        event.url = timing.url();
        event.status = timing.status().orElse(-1);
        event.outcome = timing.outcome().canonicalName();
        event.cause = timing.cause().map(cause -> cause.canonicalName()).orElse("");
        event.attempts = timing.attempts().size();
        event.reused = timing.reused().orElse(false);
        event.total = timing.totalNanos();
        event.queue = timing.nanos(Phase.QUEUE).orElse(-1);
        event.dns = timing.nanos(Phase.DNS).orElse(-1);
        event.connect = timing.nanos(Phase.CONNECT).orElse(-1);
        event.tls = timing.nanos(Phase.TLS).orElse(-1);
        event.send = timing.nanos(Phase.SEND).orElse(-1);
        event.await = timing.nanos(Phase.WAIT).orElse(-1);
        event.receive = timing.nanos(Phase.RECEIVE).orElse(-1);
        event.commit();
    }
}
