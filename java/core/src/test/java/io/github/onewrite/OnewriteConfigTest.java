package io.github.onewrite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
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

class OnewriteConfigTest {

    private static OnewriteConfig read(Map<String, String> properties, Map<String, String> environment) {
        return OnewriteConfig.read(properties::get, environment::get);
    }

    @Test
    void everySwitchByItsTwoNames() {
        assertEquals(new OnewriteConfig(false, false, false), read(Map.of(), Map.of()));
        assertEquals(
                new OnewriteConfig(true, true, true),
                read(
                        Map.of(),
                        Map.of("ONEWRITE_DISABLED", "true", "ONEWRITE_OBSERVE", "1", "ONEWRITE_QUICKACK", " TRUE ")));
        assertEquals(
                new OnewriteConfig(true, true, true),
                read(
                        Map.of("onewrite.disabled", "true", "onewrite.observe", "on", "onewrite.quickack", "yes"),
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

    /** A framework reads its settings again: one bad switch in the environment warned three times. */
    @Test
    void aBadValueWarnsOnceHoweverOftenItIsRead() {
        List<String> said = warnings(() -> {
            for (int i = 0; i < 3; i++) {
                assertFalse(read(Map.of(), Map.of("ONEWRITE_QUICKACK", "maybe-" + getClass()))
                        .quickack());
            }
        });
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
        Map<String, String> environment = Map.of("ONEWRITE_DISABLED", "true");
        assertFalse(read(Map.of("onewrite.disabled", "false"), environment).disabled());
        assertTrue(read(Map.of("onewrite.disabled", ""), environment).disabled());
        assertTrue(read(Map.of("onewrite.disabled", "perhaps"), environment).disabled());
    }

    @Test
    void observingLeavesAllButTheHooks() {
        OnewriteConfig config = new OnewriteConfig(false, true, true);
        assertFalse(config.changesWire());
        assertFalse(config.acknowledgesAtOnce());
    }
}
