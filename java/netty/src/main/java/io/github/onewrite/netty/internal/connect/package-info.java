/** How a connection is made, and what it is. No public API, may change in any release. */
@NullMarked
package io.github.onewrite.netty.internal.connect;

import org.jspecify.annotations.NullMarked;
