package io.github.onewrite.client.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class OriginTest {

    /** Connections are shared by origin: each part of it is significant. */
    @Test
    void eachPartCounts() {
        Origin origin = new Origin(true, "tea", 443);
        Origin same = new Origin(true, String.join("", "te", "a"), 443);
        assertEquals(origin, same);
        assertEquals(origin.hashCode(), same.hashCode());
        for (Origin other :
                List.of(new Origin(false, "tea", 443), new Origin(true, "green", 443), new Origin(true, "tea", 8443))) {
            assertNotEquals(origin, other);
        }
        assertNotEquals(origin, null);
    }
}
