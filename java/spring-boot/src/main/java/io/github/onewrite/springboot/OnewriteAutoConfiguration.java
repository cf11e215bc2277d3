package io.github.onewrite.springboot;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.http.client.reactive.ReactorClientHttpConnectorBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Lazy;
import org.springframework.core.env.Environment;
import reactor.netty.http.client.HttpClient;

/**
 * For Spring Boot 3.5 and 4: applies {@link OnewriteReactorNetty} to the Reactor Netty clients on which Boot puts the injected
 * {@code WebClient.Builder}, {@code RestClient.Builder} and {@code RestTemplateBuilder}. Clients over another library,
 * an {@code OkHttpClient} bean among them, and those made without Boot's builders stay as they are.
 *
 * <p>Each bean that is a {@link io.github.onewrite.TimingHook} gets their records once all beans of the application are made.
 * The switches are those of {@link OnewriteConfig}, looked up in Spring's environment: system properties, then environment
 * variables, then {@code application.properties}.
 *
 * <p>An application's own bean of type {@link OnewriteReactorNetty} replaces all this: its switches and hooks are used.
 */
@AutoConfiguration
@ConditionalOnClass(HttpClient.class)
public class OnewriteAutoConfiguration {

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
    OnewriteReactorNetty onewriteReactorNetty(Environment environment, HookBeans hooks) {
        OnewriteReactorNetty onewrite = OnewriteReactorNetty.create()
                .config(OnewriteConfig.read(environment::getProperty, environment::getProperty));
        hooks.addTo(onewrite);
        return onewrite;
    }

    @Bean
    @ConditionalOnClass(ReactorClientHttpConnectorBuilder.class)
    static BeanPostProcessor onewriteBuilders(ObjectProvider<OnewriteReactorNetty> onewrite) {
        return new BuilderPostProcessor(onewrite);
    }
}
