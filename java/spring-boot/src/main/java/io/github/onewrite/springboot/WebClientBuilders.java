package io.github.onewrite.springboot;

import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.http.client.reactive.ReactorClientHttpConnectorBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** WebClient from Boot 3.5 on. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass(ReactorClientHttpConnectorBuilder.class)
class WebClientBuilders {

    @Bean
    static BeanPostProcessor onewriteWebClientBuilders(ObjectProvider<OnewriteReactorNetty> onewrite) {
        return new BuilderPostProcessor<>(
                ReactorClientHttpConnectorBuilder.class,
                builder -> builder.withHttpClientCustomizer(
                        client -> onewrite.getObject().apply(client)));
    }
}
