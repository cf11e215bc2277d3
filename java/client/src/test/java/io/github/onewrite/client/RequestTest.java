package io.github.onewrite.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import org.junit.jupiter.api.Test;

class RequestTest {
    private static final String URL = "http://example.org/";

    /** A builder can build several requests; later changes of it do not change those. */
    @Test
    void aRequestDoesNotChangeWithItsBuilder() throws Exception {
        Request.Builder builder = Request.post(URL, Body.of("a"));
        Request bare = builder.build();
        Request one = builder.header("A", "1").build();
        Request two = builder.header("A", "2").header("B", "3").build();
        assertFalse(bare.prepare().headers().contains("a"));
        assertEquals("1", String.join(",", one.prepare().headers().getAll("a")));
        assertEquals("1,2", String.join(",", two.prepare().headers().getAll("a")));
        assertFalse(one.prepare().headers().contains("b"));
        assertEquals("3", two.prepare().headers().get("b"));
    }

    @Test
    void theClientFramesAndNamesTheHost() throws Exception {
        assertEquals(
                "[host=example.org, content-length=1]",
                Request.post(URL, Body.of("a"))
                        .build()
                        .prepare()
                        .headers()
                        .entries()
                        .toString());
        assertEquals(
                "[host=example.org]",
                Request.get(URL).build().prepare().headers().entries().toString());
        assertEquals(
                "[host=example.org, content-length=0]",
                Request.post(URL, Body.none())
                        .build()
                        .prepare()
                        .headers()
                        .entries()
                        .toString());
    }
}
