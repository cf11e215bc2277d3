/**
 * The client: {@link io.github.onewrite.client.OnewriteClient}. A request with its body leaves in one write on a
 * connection that has TCP_NODELAY; it is never delivered twice unless that is safe; every call can be timed.
 *
 * <p>Inside: a {@code Call} waits in an {@code OriginPool} for a {@code Connection}, on which an {@code Exchange} sends
 * the request and reads the response. All four are confined to one event loop: no locks.
 */
@NullMarked
package io.github.onewrite.client;

import org.jspecify.annotations.NullMarked;
