/**
 * The API that all onewrite adapters share: the {@link io.github.onewrite.Timing} record, the
 * {@link io.github.onewrite.TimingHook} that gets it, and the {@link io.github.onewrite.OnewriteConfig switches}.
 */
@NullMarked
package io.github.onewrite;

import org.jspecify.annotations.NullMarked;
