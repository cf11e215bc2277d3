/** One call: its attempts, and where its response goes. No public API, may change in any release. */
@NullMarked
package io.github.onewrite.netty.internal.exchange;

import org.jspecify.annotations.NullMarked;
