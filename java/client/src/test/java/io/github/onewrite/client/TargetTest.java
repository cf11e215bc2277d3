package io.github.onewrite.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.URI;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TargetTest {
    @ParameterizedTest
    @CsvSource({
        "http://h, http://h:80, h, /",
        "HTTPS://H.Test/a, https://h.test:443, H.Test, /a",
        "http://h:/, http://h:80, h:, /",
        "http://h:8080?q, http://h:8080, h:8080, /?q",
        "http://h/a?b/c?d#e, http://h:80, h, /a?b/c?d",
        "http://h#e, http://h:80, h, /",
        "http://user:p%40w@h/, http://h:80, h, /",
        "http://a_b:1/, http://a_b:1, a_b:1, /",
        "'http://[::1]:81/', 'http://::1:81', '[::1]:81', /",
        "http://h/%20ü?[], http://h:80, h, /%20ü?[]",
    })
    void aUrlIsTakenApart(String url, String origin, String authority, String path) {
        Target target = Target.of(url);
        assertEquals(origin, target.origin().toString());
        assertEquals(authority, target.authority());
        assertEquals(path, target.path());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "/",
                "h",
                "http:",
                "http://",
                "http:///a",
                "http://:80/",
                "http://@/",
                "ftp://h/",
                "http\u017f://h/",
                "http://h/a b",
                "http://h/\r\nX: y",
                "http://h/{a}",
                "http://h/%zz",
                "http://h/#a#b",
                "http://h h/",
                "http://[::1/",
                "http://h:x/",
                "http://h:99999999999/"
            })
    void aUrlIsRefused(String url) {
        assertThrows(IllegalArgumentException.class, () -> Target.of(url));
    }

    /** What java.net.URI refuses, and only that, is refused. */
    @Test
    void itRefusesWhatTheJdkRefuses() {
        List<String> parts = List.of(
                "/", "?", "#", "%", "%2F", "a", "Z", "0", ".", "-", "_", "~", "!", "$", "&", "'", "(", ")", "*", "+",
                ",", ";", "=", ":", "@", "[", "]", " ", "\t", "\n", "\0", "\u007f", "\"", "<", ">", "\\", "^", "`", "{",
                "|", "}", "é", "\u00a0", "\u2028");
        Random random = new Random(1);
        for (int i = 0; i < 20_000; i++) {
            StringBuilder url = new StringBuilder("http://h/");
            for (int more = random.nextInt(5); more >= 0; more--) {
                url.append(parts.get(random.nextInt(parts.size())));
            }
            assertEquals(
                    isUrl(() -> URI.create(url.toString())), isUrl(() -> Target.of(url.toString())), url::toString);
        }
    }

    private static boolean isUrl(Runnable parse) {
        try {
            parse.run();
            return true;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }
}
