/** Timing, and a check of TCP_NODELAY, for AsyncHttpClient: {@link io.github.onewrite.ahc.OnewriteAhc}. */
@NullMarked
package io.github.onewrite.ahc;

import org.jspecify.annotations.NullMarked;
