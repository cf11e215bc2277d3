/**
 * The client: {@link io.github.onewrite.client.OnewriteClient}. A request with its body leaves in one write on a
 * connection that has TCP_NODELAY; every call can be timed.
 *
 * <p>Inside: a {@code Call} waits in an {@code OriginPool} for a channel, whose {@code Connection} gives it what is
 * read. All three are confined to one event loop: no locks.
 */
@NullMarked
package io.github.onewrite.client;

import org.jspecify.annotations.NullMarked;
