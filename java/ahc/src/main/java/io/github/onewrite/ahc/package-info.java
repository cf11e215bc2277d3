/** AsyncHttpClient, in one write and timed: {@link io.github.onewrite.ahc.OnewriteAhc}. */
@NullMarked
package io.github.onewrite.ahc;

import org.jspecify.annotations.NullMarked;
