package io.github.onewrite.springboot;

import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.http.client.ReactorClientHttpRequestFactoryBuilder;
import org.springframework.boot.http.client.reactive.ReactorClientHttpConnectorBuilder;
import reactor.netty.http.client.HttpClient;

/**
 * Customizes the builders of WebClient's and RestClient's connections. Boot 4 has its customizers of them in another package
 * than 3.5; a post-processor works with both, and sees the options that others have set.
 */
final class BuilderPostProcessor implements BeanPostProcessor {
    private final ObjectProvider<OnewriteReactorNetty> onewrite;

    BuilderPostProcessor(ObjectProvider<OnewriteReactorNetty> onewrite) {
        this.onewrite = onewrite;
    }

    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
        if (bean instanceof ReactorClientHttpConnectorBuilder builder) {
            return builder.withHttpClientCustomizer(this::customize);
        }
        return bean instanceof ReactorClientHttpRequestFactoryBuilder builder
                ? builder.withHttpClientCustomizer(this::customize)
                : bean;
    }

    private HttpClient customize(HttpClient client) {
        return onewrite.getObject().apply(client);
    }
}
