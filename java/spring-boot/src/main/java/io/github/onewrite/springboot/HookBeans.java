package io.github.onewrite.springboot;

import io.github.onewrite.TimingHook;
import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;

/**
 * The hooks of an application: known by the definitions of their beans, looked up once all beans are made. A hook that has a
 * client itself would else be needed for its own client. Requests that end before that are not reported.
 */
final class HookBeans implements SmartInitializingSingleton {
    private final ListableBeanFactory beans;
    private final Map<String, TimingHook> made = new ConcurrentHashMap<>();

    HookBeans(ListableBeanFactory beans) {
        this.beans = beans;
    }

    /** Makes no bean. */
    private String[] names() {
        return BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, TimingHook.class, true, false);
    }

    void addTo(OnewriteReactorNetty onewrite) {
        for (String name : names()) {
            onewrite.onTiming(timing -> {
                TimingHook hook = made.get(name);
                if (hook != null) {
                    hook.onTiming(timing);
                }
            });
        }
    }

    @Override
    public void afterSingletonsInstantiated() {
        for (String name : names()) {
            made.put(name, beans.getBean(name, TimingHook.class));
        }
    }
}
