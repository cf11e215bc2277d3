/**
 * For authors of adapters and of listeners that need more than events. An adapter makes {@link
 * io.github.onewrite.spi.Hooks} of its options, starts a {@link io.github.onewrite.spi.TimedCall} per call and reports its
 * steps. A client that runs a whole call on one thread uses {@link io.github.onewrite.spi.CallTimer}. A tracer implements
 * {@link io.github.onewrite.spi.RecordListener}.
 *
 * <p>Programs that only use an adapter need {@link io.github.onewrite} alone.
 */
@NullMarked
package io.github.onewrite.spi;

import org.jspecify.annotations.NullMarked;
