/** Shared by the adapters; no public API, may change in any release. */
@NullMarked
package io.github.onewrite.internal;

import org.jspecify.annotations.NullMarked;
