/**
 * One write per request, TCP_NODELAY and timing for a pipeline of Netty: {@link io.github.onewrite.netty.OnewriteNetty}.
 * {@link io.github.onewrite.netty.NettyConnection} is for adapters of clients that stand on Netty.
 */
@NullMarked
package io.github.onewrite.netty;

import org.jspecify.annotations.NullMarked;
