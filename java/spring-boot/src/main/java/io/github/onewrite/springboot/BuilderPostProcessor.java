package io.github.onewrite.springboot;

import java.util.function.UnaryOperator;
import org.springframework.beans.factory.config.BeanPostProcessor;

/**
 * Changes the beans of one type of builder. Boot has customizers for them only from 3.5 on, and in 4 elsewhere; a bean
 * that is done is the same in all of them, and has what others set, which is to be looked at.
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
