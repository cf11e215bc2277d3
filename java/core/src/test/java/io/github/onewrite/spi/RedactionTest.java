package io.github.onewrite.spi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Outcome;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingEvent;
import io.github.onewrite.TimingListener;
import io.github.onewrite.TimingMappers;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The table that all languages run, and each place where the adapter shows a URL. */
class RedactionTest {
    private static final String URL = "https://user:secret@example.org/a?sig=secret";
    private static final String SHOWN = "https://example.org/a?sig=REDACTED";

    static Stream<Arguments> table() {
        return Tables.rows("redaction")
                .map(row -> Arguments.of(
                        row.get("about").getAsString(),
                        row.get("url").getAsString(),
                        row.get("redacted").getAsString()));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("table")
    void theTable(String about, String url, String redacted) {
        assertEquals(redacted, Redaction.of(url));
    }

    @Test
    void whatHasNothingToHideIsNotCopied() {
        String url = "https://example.org/a?b=c";
        assertSame(url, Redaction.of(url));
    }

    @Test
    void recordEventsAndListenersFactory() {
        List<String> shown = new ArrayList<>();
        TimingListener listener = new TimingListener() {
            @Override
            public void onCallStart(TimingEvent.CallStart event) {
                shown.add(event.url());
            }
        };
        TimingListener.Factory factory = (method, url, tag) -> {
            shown.add(url);
            return listener;
        };
        Hooks hooks =
                new Hooks(OnewriteConfig.defaults(), List.of(timing -> shown.add(timing.url())), List.of(factory));
        CallTimer timer = CallTimer.start(hooks, "GET", URL, null);
        timer.callEnd(Outcome.ERROR, ErrorKind.OTHER, null);
        assertEquals(List.of(SHOWN, SHOWN, SHOWN), shown);
    }

    /** A record that is constructed directly is redacted, too. */
    @Test
    void textAndMappers() {
        Timing timing = new Timing("GET", URL, null, Outcome.OK, null, null, 0, 0, 1, List.of());
        assertEquals(SHOWN, TimingMappers.otelAttributes(timing).get("url.full"));
        assertEquals("example.org", TimingMappers.otelAttributes(timing).get("server.address"));
        assertEquals(SHOWN, TimingMappers.resourceTiming(timing).get("name"));
        assertFalse(timing.toString().contains("secret"), timing.toString());
        assertFalse(TimingMappers.harTimings(timing).toString().contains("secret"));
    }
}
