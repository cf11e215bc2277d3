/** One write per small request, and timing, for Spring Boot's clients: {@link io.github.onewrite.springboot.OnewriteAutoConfiguration}. */
@NullMarked
package io.github.onewrite.springboot;

import org.jspecify.annotations.NullMarked;
