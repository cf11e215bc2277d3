/** One write per request, TCP_NODELAY and timing for a pipeline of Netty: {@link io.github.onewrite.netty.OnewriteNetty}. */
@NullMarked
package io.github.onewrite.netty;

import org.jspecify.annotations.NullMarked;
