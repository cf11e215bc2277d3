package io.github.onewrite.springboot;

import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingClass;
import org.springframework.boot.autoconfigure.web.reactive.function.client.ReactorNettyHttpClientMapper;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/** WebClient up to Boot 3.4. From 3.5 on, which deprecates mappers, {@link WebClientBuilders} is used instead. */
@SuppressWarnings("removal")
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass(ReactorNettyHttpClientMapper.class)
@ConditionalOnMissingClass("org.springframework.boot.http.client.reactive.ReactorClientHttpConnectorBuilder")
class WebClientMapper {

    /** The last of the mappers, so that it sees the options that others set. */
    @Bean
    @Order(Ordered.LOWEST_PRECEDENCE)
    ReactorNettyHttpClientMapper onewriteHttpClientMapper(OnewriteReactorNetty onewrite) {
        return onewrite::apply;
    }
}
