package io.github.onewrite.springboot;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.http.client.reactive.ReactorClientHttpConnectorBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Lazy;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.EnumerablePropertySource;
import reactor.netty.http.client.HttpClient;

/**
 * For Spring Boot 3.5 and 4: applies {@link OnewriteReactorNetty} to the Reactor Netty clients on which Boot puts the injected
 * {@code WebClient.Builder}, {@code RestClient.Builder} and {@code RestTemplateBuilder}. Clients over another library,
 * an {@code OkHttpClient} bean among them, and those made without Boot's builders stay as they are.
 *
 * <p>Each bean that is a {@code Consumer<Timing>}, a {@link io.github.onewrite.TimingListener} or a
 * {@link io.github.onewrite.TimingListener.Factory} gets their calls once all beans of the application are made. The
 * switches are those of {@link OnewriteConfig}, looked up in Spring's environment: system
 * properties, then environment variables, then {@code application.properties}.
 *
 * <p>An application's own bean of type {@link OnewriteReactorNetty} replaces all this: its switches and hooks are used.
 */
@AutoConfiguration
@ConditionalOnClass(HttpClient.class)
public class OnewriteAutoConfiguration {

    private static final System.Logger LOG = System.getLogger("io.github.onewrite");

    /** For Spring. */
    public OnewriteAutoConfiguration() {}

    @Bean
    HookBeans onewriteHookBeans(ListableBeanFactory beans) {
        return new HookBeans(beans);
    }

    /** Made at the start, also with lazy initialization: {@link HookBeans} must have its hooks when all beans are made. */
    @Bean
    @Lazy(false)
    @ConditionalOnMissingBean
    OnewriteReactorNetty onewriteReactorNetty(ConfigurableEnvironment environment, HookBeans hooks) {
        OnewriteReactorNetty onewrite = OnewriteReactorNetty.create().config(switches(environment));
        hooks.addTo(onewrite);
        return onewrite;
    }

    /** Spring's environment holds system properties and environment variables, in this order. */
    private static OnewriteConfig switches(ConfigurableEnvironment environment) {
        Set<String> known = new TreeSet<>();
        OnewriteConfig switches = OnewriteConfig.read(
                name -> {
                    known.add(name);
                    return environment.getProperty(name);
                },
                environment::getProperty);
        environment.getPropertySources().stream()
                .filter(EnumerablePropertySource.class::isInstance)
                .flatMap(source -> Stream.of(((EnumerablePropertySource<?>) source).getPropertyNames()))
                // Spring reads a name in any case, and without its hyphens.
                .filter(name -> name.startsWith("onewrite.")
                        && !known.contains(name.toLowerCase(Locale.ROOT).replace("-", "")))
                .distinct()
                .forEach(name ->
                        LOG.log(System.Logger.Level.WARNING, "{0} is ignored: the properties are {1}", name, known));
        return switches;
    }

    @Bean
    @ConditionalOnClass(ReactorClientHttpConnectorBuilder.class)
    static BeanPostProcessor onewriteBuilders(ObjectProvider<OnewriteReactorNetty> onewrite) {
        return new BuilderPostProcessor(onewrite);
    }
}
