/**
 * What all onewrite adapters share: the {@link io.github.onewrite.Timing} record, the
 * {@link io.github.onewrite.TimingListener}, the {@link io.github.onewrite.OnewriteConfig switches} and the
 * {@link io.github.onewrite.OnewriteException error}.
 */
@NullMarked
package io.github.onewrite;

import org.jspecify.annotations.NullMarked;
