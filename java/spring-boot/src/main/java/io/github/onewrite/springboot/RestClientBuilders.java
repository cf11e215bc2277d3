package io.github.onewrite.springboot;

import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.http.client.ReactorClientHttpRequestFactoryBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** RestClient from Boot 3.4 on. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass(ReactorClientHttpRequestFactoryBuilder.class)
class RestClientBuilders {

    @Bean
    static BeanPostProcessor onewriteRestClientBuilders(ObjectProvider<OnewriteReactorNetty> onewrite) {
        return new BuilderPostProcessor<>(
                ReactorClientHttpRequestFactoryBuilder.class,
                builder -> builder.withHttpClientCustomizer(
                        client -> onewrite.getObject().apply(client)));
    }
}
