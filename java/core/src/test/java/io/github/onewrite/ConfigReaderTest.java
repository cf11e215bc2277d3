package io.github.onewrite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ConfigReaderTest {

    private static OnewriteConfig read(Map<String, String> properties, Map<String, String> environment) {
        return OnewriteConfig.read(properties::get, environment::get);
    }

    @Test
    void defaults() {
        assertEquals(new OnewriteConfig(false, false, false, false, false, 16384, false), read(Map.of(), Map.of()));
    }

    @Test
    void everySwitchByItsTwoNames() {
        assertEquals(
                new OnewriteConfig(true, true, true, true, true, 100, true),
                read(
                        Map.of(),
                        Map.of(
                                "ONEWRITE_DISABLED", "true",
                                "ONEWRITE_NODELAY_DISABLED", "TRUE",
                                "ONEWRITE_COALESCE_DISABLED", "True",
                                "ONEWRITE_HOOKS_DISABLED", "true",
                                "ONEWRITE_OBSERVE", "1",
                                "ONEWRITE_COALESCE_MAX", "100",
                                "ONEWRITE_QUICKACK", " true ")));
        assertEquals(
                new OnewriteConfig(true, true, true, true, true, 100, true),
                read(
                        Map.of(
                                "onewrite.disabled", "true",
                                "onewrite.nodelay.disabled", "true",
                                "onewrite.coalesce.disabled", "true",
                                "onewrite.hooks.disabled", "true",
                                "onewrite.observe", "on",
                                "onewrite.coalesce.max", "100",
                                "onewrite.quickack", "true"),
                        Map.of()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"1", "true", "yes", "on", "TRUE", "Yes", "oN", " on "})
    void on(String value) {
        assertTrue(read(Map.of(), Map.of("ONEWRITE_DISABLED", value)).disabled());
        assertTrue(read(Map.of("onewrite.disabled", value), Map.of()).disabled());
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "false", "no", "off", "FALSE", "No", "oFF", "", " ", " 0 "})
    void off(String value) {
        assertEquals(
                List.of(),
                warnings(() -> assertFalse(
                        read(Map.of(), Map.of("ONEWRITE_DISABLED", value)).disabled())));
    }

    @Test
    void aBadValueWarnsOnce() {
        List<String> said = warnings(() ->
                assertFalse(read(Map.of(), Map.of("ONEWRITE_QUICKACK", "2")).quickack()));
        assertEquals(1, said.size(), said.toString());
        assertTrue(said.get(0).contains("ONEWRITE_QUICKACK"), said.get(0));
    }

    private static List<String> warnings(Runnable task) {
        List<String> said = new ArrayList<>();
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord logged) {
                said.add(new SimpleFormatter().formatMessage(logged));
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        Logger logger = Logger.getLogger("io.github.onewrite");
        logger.addHandler(handler);
        try {
            task.run();
        } finally {
            logger.removeHandler(handler);
        }
        return said;
    }

    @Test
    void propertiesGoBeforeTheEnvironment() {
        assertFalse(read(Map.of("onewrite.disabled", "false"), Map.of("ONEWRITE_DISABLED", "true"))
                .disabled());
        assertFalse(read(Map.of("onewrite.disabled", ""), Map.of("ONEWRITE_DISABLED", "true"))
                .disabled());
        assertEquals(
                7,
                read(Map.of("onewrite.coalesce.max", ""), Map.of("ONEWRITE_COALESCE_MAX", "7"))
                        .coalesceMax());
    }

    @Test
    void badValuesAreIgnored() {
        assertFalse(read(Map.of(), Map.of("ONEWRITE_DISABLED", "maybe")).disabled());
        assertTrue(read(Map.of("onewrite.disabled", "maybe"), Map.of("ONEWRITE_DISABLED", "1"))
                .disabled());
        assertEquals(
                16384, read(Map.of(), Map.of("ONEWRITE_COALESCE_MAX", "many")).coalesceMax());
        assertEquals(
                16384, read(Map.of(), Map.of("ONEWRITE_COALESCE_MAX", "16385")).coalesceMax());
        assertEquals(
                16384, read(Map.of(), Map.of("ONEWRITE_COALESCE_MAX", "-1")).coalesceMax());
        assertEquals(
                7,
                read(Map.of("onewrite.coalesce.max", "none"), Map.of("ONEWRITE_COALESCE_MAX", "7"))
                        .coalesceMax());
    }

    @Test
    void codeIsHeldToTheSameRange() {
        OnewriteConfig config = OnewriteConfig.defaults();
        assertThrows(IllegalArgumentException.class, () -> config.withCoalesceMax(16385));
        assertThrows(IllegalArgumentException.class, () -> config.withCoalesceMax(-1));
        assertEquals(0, config.withCoalesceMax(0).coalesceMax());
    }

    @Test
    void observingLeavesAllButTheHooks() {
        OnewriteConfig config = OnewriteConfig.defaults().withQuickack(true).withObserve(true);
        assertFalse(config.guardsNodelay());
        assertFalse(config.coalesces());
        assertFalse(config.acknowledgesAtOnce());
        assertTrue(config.callsHooks());
    }
}
