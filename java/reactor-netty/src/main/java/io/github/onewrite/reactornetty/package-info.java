/** One write per small request, and timing, for Reactor Netty: {@link io.github.onewrite.reactornetty.OnewriteReactorNetty}. */
@NullMarked
package io.github.onewrite.reactornetty;

import org.jspecify.annotations.NullMarked;
