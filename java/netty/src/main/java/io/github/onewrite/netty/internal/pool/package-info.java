/** Which connection a call gets. No public API, may change in any release. */
@NullMarked
package io.github.onewrite.netty.internal.pool;

import org.jspecify.annotations.NullMarked;
