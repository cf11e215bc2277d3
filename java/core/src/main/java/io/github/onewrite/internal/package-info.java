/** Code that the adapters share and no program calls. It is exported to the adapters alone. */
@NullMarked
package io.github.onewrite.internal;

import org.jspecify.annotations.NullMarked;
