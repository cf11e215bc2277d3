/** How a request and its body are sent. No public API, may change in any release. */
@NullMarked
package io.github.onewrite.netty.internal.body;

import org.jspecify.annotations.NullMarked;
