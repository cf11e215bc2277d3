/** What a client was built with, and checks of what it is given. No public API, may change in any release. */
@NullMarked
package io.github.onewrite.client.internal;

import org.jspecify.annotations.NullMarked;
