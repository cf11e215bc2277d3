package io.github.onewrite.springboot;

import io.github.onewrite.Timing;
import io.github.onewrite.TimingListener;
import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.core.ResolvableType;

/**
 * The hooks of an application: counted by their definitions, looked up once all beans are made. A hook that has a client
 * itself would else be needed for its own client. Calls made before that are not reported.
 */
final class HookBeans implements SmartInitializingSingleton {
    private static final TimingListener SILENT = event -> {};

    private final ListableBeanFactory beans;
    private final List<Runnable> lookups = new ArrayList<>();

    HookBeans(ListableBeanFactory beans) {
        this.beans = beans;
    }

    void addTo(OnewriteReactorNetty onewrite) {
        ResolvableType consumer = ResolvableType.forClassWithGenerics(Consumer.class, Timing.class);
        this.<Consumer<Timing>>each(
                consumer,
                timing -> {},
                hook -> onewrite.onTiming(timing -> hook.get().accept(timing)));
        this.<TimingListener>each(
                ResolvableType.forClass(TimingListener.class),
                SILENT,
                hook -> onewrite.listenerFactory((method, url, tag) -> hook.get()));
        this.<TimingListener.Factory>each(
                ResolvableType.forClass(TimingListener.Factory.class),
                (method, url, tag) -> SILENT,
                hook -> onewrite.listenerFactory(
                        (method, url, tag) -> hook.get().create(method, url, tag)));
    }

    /** Adds a hook for each bean of a type, in their order: this one until the bean is looked up. */
    private <T> void each(ResolvableType type, T none, Consumer<Supplier<T>> add) {
        // Makes no bean.
        int count = BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, type, true, false).length;
        AtomicReferenceArray<T> hooks = new AtomicReferenceArray<>(count);
        for (int i = 0; i < count; i++) {
            int index = i;
            add.accept(() -> Objects.requireNonNullElse(hooks.get(index), none));
        }
        lookups.add(() -> {
            List<T> made = beans.<T>getBeanProvider(type).orderedStream().toList();
            for (int i = 0; i < Math.min(made.size(), count); i++) {
                hooks.set(i, made.get(i));
            }
        });
    }

    @Override
    public void afterSingletonsInstantiated() {
        lookups.forEach(Runnable::run);
    }
}
