/** Spring Boot's clients, in one write and timed: {@link io.github.onewrite.springboot.OnewriteAutoConfiguration}. */
@NullMarked
package io.github.onewrite.springboot;

import org.jspecify.annotations.NullMarked;
