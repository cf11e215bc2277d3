package io.github.onewrite.springboot;

import java.util.function.UnaryOperator;
import org.springframework.beans.factory.config.BeanPostProcessor;

/**
 * Changes the beans of one type of builder. Boot has customizers for them from 3.5 on, and in 4 in another package; a
 * post-processor works with all versions, and sees the options that others have set.
 */
final class BuilderPostProcessor<B> implements BeanPostProcessor {
    private final Class<B> type;
    private final UnaryOperator<B> change;

    BuilderPostProcessor(Class<B> type, UnaryOperator<B> change) {
        this.type = type;
        this.change = change;
    }

    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
        return type.isInstance(bean) ? change.apply(type.cast(bean)) : bean;
    }
}
