/** Reactor Netty, in one write and timed: {@link io.github.onewrite.reactornetty.OnewriteReactorNetty}. */
@NullMarked
package io.github.onewrite.reactornetty;

import org.jspecify.annotations.NullMarked;
