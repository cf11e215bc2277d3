package io.github.onewrite.springboot;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingListener;
import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import java.util.function.Consumer;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;
import reactor.netty.http.client.HttpClient;

/**
 * Applies {@link OnewriteReactorNetty} to the Reactor Netty clients on which Spring Boot puts the injected
 * {@code WebClient.Builder}, {@code RestClient.Builder} and {@code RestTemplateBuilder}. Clients over another library,
 * and those made without Boot's builders, stay as they are.
 *
 * <p>Each bean that is a {@code Consumer<Timing>}, a {@link TimingListener} or a {@link TimingListener.Factory} gets
 * all their calls. The switches are those of {@link OnewriteConfig}, looked up in Spring's environment: system
 * properties, then environment variables, then {@code application.properties}.
 *
 * <p>An application's own bean of type {@link OnewriteReactorNetty} replaces all this: its switches and hooks are used.
 */
@AutoConfiguration
@ConditionalOnClass(HttpClient.class)
@Import({WebClientMapper.class, WebClientBuilders.class, RestClientBuilders.class})
public class OnewriteAutoConfiguration {

    /** For Spring. */
    public OnewriteAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean
    OnewriteReactorNetty onewriteReactorNetty(
            Environment environment,
            ObjectProvider<Consumer<Timing>> consumers,
            ObjectProvider<TimingListener> listeners,
            ObjectProvider<TimingListener.Factory> factories) {
        OnewriteReactorNetty onewrite = OnewriteReactorNetty.create().config(switches(environment));
        consumers.orderedStream().forEach(onewrite::onTiming);
        listeners.orderedStream().forEach(onewrite::listener);
        factories.orderedStream().forEach(onewrite::listenerFactory);
        return onewrite;
    }

    /** Spring's environment holds system properties and environment variables, in this order. */
    private static OnewriteConfig switches(Environment environment) {
        return OnewriteConfig.read(environment::getProperty, environment::getProperty);
    }
}
