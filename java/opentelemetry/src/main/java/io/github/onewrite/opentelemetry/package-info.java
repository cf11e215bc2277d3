/** The timing record for OpenTelemetry: {@link io.github.onewrite.opentelemetry.OnewriteOpenTelemetry}. */
@NullMarked
package io.github.onewrite.opentelemetry;

import org.jspecify.annotations.NullMarked;
