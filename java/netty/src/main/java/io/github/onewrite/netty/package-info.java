/** What the adapters of clients that stand on Netty share; no public API, may change in any release. */
@NullMarked
package io.github.onewrite.netty;

import org.jspecify.annotations.NullMarked;
