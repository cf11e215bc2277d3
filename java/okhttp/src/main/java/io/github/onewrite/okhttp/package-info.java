/** OkHttp, cured: {@link io.github.onewrite.okhttp.OnewriteOkHttp}. */
@NullMarked
package io.github.onewrite.okhttp;

import org.jspecify.annotations.NullMarked;
