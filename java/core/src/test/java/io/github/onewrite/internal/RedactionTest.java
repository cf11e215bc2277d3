package io.github.onewrite.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.github.onewrite.Redaction;
import io.github.onewrite.TimingEvent;
import io.github.onewrite.TimingListener;
import io.github.onewrite.TimingMappers;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
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
        AtomicLong errors = new AtomicLong();
        TimingListener listener = event -> {
            if (event.type() == TimingEvent.Type.CALL_START) {
                shown.add(event.call().url());
                assertFalse(event.toString().contains("secret"), event.toString());
            }
        };
        TimingListener.Factory factory = (method, url, tag) -> {
            shown.add(url);
            return listener;
        };
        Hooks hooks = new Hooks(
                List.of(timing -> {
                    shown.add(timing.url());
                    assertFalse(timing.toString().contains("secret"), timing.toString());
                    assertEquals(SHOWN, TimingMappers.otelAttributes(timing).get("url.full"));
                    assertEquals(
                            "example.org", TimingMappers.otelAttributes(timing).get("server.address"));
                }),
                List.of(factory),
                errors);
        TimedCall.start(hooks, "GET", URL, null).completed(System.nanoTime());
        assertEquals(0, errors.get());
        assertEquals(List.of(SHOWN, SHOWN, SHOWN), shown);
    }
}
