package io.github.onewrite.springboot;

import io.github.onewrite.Timing;
import io.github.onewrite.TimingListener;
import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;
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
        ResolvableType consumers = ResolvableType.forClassWithGenerics(Consumer.class, Timing.class);
        for (Supplier<Consumer<Timing>> hook : this.<Consumer<Timing>>hooks(consumers, timing -> {})) {
            onewrite.onTiming(timing -> hook.get().accept(timing));
        }
        for (Supplier<TimingListener> hook : hooks(ResolvableType.forClass(TimingListener.class), SILENT)) {
            onewrite.listenerFactory((method, url, tag) -> hook.get());
        }
        ResolvableType factories = ResolvableType.forClass(TimingListener.Factory.class);
        for (Supplier<TimingListener.Factory> hook :
                this.<TimingListener.Factory>hooks(factories, (method, url, tag) -> SILENT)) {
            onewrite.listenerFactory((method, url, tag) -> hook.get().create(method, url, tag));
        }
    }

    /** The beans of a type, in their order: this one until they are looked up. */
    private <T> List<Supplier<T>> hooks(ResolvableType type, T none) {
        List<T> made = new CopyOnWriteArrayList<>();
        lookups.add(
                () -> made.addAll(beans.<T>getBeanProvider(type).orderedStream().toList()));
        // Makes no bean.
        int count = BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, type, true, false).length;
        return IntStream.range(0, count)
                .<Supplier<T>>mapToObj(i -> () -> i < made.size() ? made.get(i) : none)
                .toList();
    }

    @Override
    public void afterSingletonsInstantiated() {
        lookups.forEach(Runnable::run);
    }
}
