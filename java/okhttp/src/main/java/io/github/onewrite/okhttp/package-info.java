/** TCP_NODELAY and timing for OkHttp: {@link io.github.onewrite.okhttp.OnewriteOkHttp}. */
@NullMarked
package io.github.onewrite.okhttp;

import org.jspecify.annotations.NullMarked;
