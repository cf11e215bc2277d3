/** One write per small request, and timing, for AsyncHttpClient: {@link io.github.onewrite.ahc.OnewriteAhc}. */
@NullMarked
package io.github.onewrite.ahc;

import org.jspecify.annotations.NullMarked;
