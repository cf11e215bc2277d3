/** The handlers, and what adapters of clients that stand on Netty need. It is exported to them alone. */
@NullMarked
package io.github.onewrite.netty.internal;

import org.jspecify.annotations.NullMarked;
