package io.github.onewrite.springboot;

import io.github.onewrite.Timing;
import io.github.onewrite.TimingListener;
import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
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
        each(consumer, (Consumer<Timing>) timing -> {})
                .forEach(hook -> onewrite.onTiming(timing -> hook.get().accept(timing)));
        each(ResolvableType.forClass(TimingListener.class), SILENT)
                .forEach(hook -> onewrite.listenerFactory((method, url, tag) -> hook.get()));
        TimingListener.Factory silent = (method, url, tag) -> SILENT;
        each(ResolvableType.forClass(TimingListener.Factory.class), silent)
                .forEach(hook -> onewrite.listenerFactory(
                        (method, url, tag) -> hook.get().create(method, url, tag)));
    }

    /** One for each bean of a type, in their order; this hook until it is looked up. */
    private <T> List<AtomicReference<T>> each(ResolvableType type, T none) {
        List<AtomicReference<T>> hooks = new ArrayList<>();
        // Makes no bean.
        for (String ignored : BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, type, true, false)) {
            hooks.add(new AtomicReference<>(none));
        }
        lookups.add(() -> {
            List<T> made = beans.<T>getBeanProvider(type).orderedStream().toList();
            for (int i = 0; i < Math.min(made.size(), hooks.size()); i++) {
                hooks.get(i).set(made.get(i));
            }
        });
        return hooks;
    }

    @Override
    public void afterSingletonsInstantiated() {
        lookups.forEach(Runnable::run);
    }
}
