package io.github.onewrite.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.Outcome;
import io.github.onewrite.Timing;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What all customizers promise: applied twice is applied once. */
public interface AppliedTwice {
    /** A client of the base library. */
    interface Poster extends AutoCloseable {
        /** Sends a POST, and returns the status of its answer. */
        int post(String url) throws Exception;

        @Override
        default void close() throws Exception {}
    }

    /** A client that the customizer was applied to so many times. */
    Poster applied(int times, Records records) throws Exception;

    /** The events of a request over a new connection. */
    default List<String> fresh() {
        return Records.FRESH;
    }

    @Test
    default void appliedTwiceIsAppliedOnce() throws Exception {
        for (int times = 0; times < 3; times++) {
            Records records = new Records();
            try (TestServer server = TestServer.answering();
                    Poster client = applied(times, records)) {
                for (int i = 0; i < 3; i++) {
                    assertEquals(200, client.post(server.url()), "applied " + times + " times");
                    if (times > 0) {
                        Timing timing = records.next();
                        assertEquals(Outcome.OK, timing.outcome());
                        assertEquals(i == 0 ? fresh() : Records.REUSED, Records.names(timing));
                    }
                }
                assertTrue(records.isEmpty());
            }
        }
    }
}
