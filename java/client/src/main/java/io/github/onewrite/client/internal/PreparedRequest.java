package io.github.onewrite.client.internal;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A checked request.
 *
 * @param headers complete, Host and framing included; shared by all sends, so never changed
 * @param expectContinue the body waits for the server's 100
 * @param closes the caller asked for the connection to be closed afterwards
 * @param repeatable idempotent, and the body can be sent again
 * @param timeout limit of the whole call, null for the client's
 */
public record PreparedRequest(
        HttpMethod method,
        Target target,
        HttpHeaders headers,
        BodySource body,
        boolean expectContinue,
        boolean closes,
        boolean repeatable,
        @Nullable Duration timeout) {}
