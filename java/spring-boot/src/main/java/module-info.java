/** Auto-configuration of Spring Boot 3.5 and 4 for WebClient and RestClient over Reactor Netty. */
module io.github.onewrite.spring.boot {
    requires transitive io.github.onewrite.reactor.netty;
    requires spring.beans;
    requires spring.boot;
    requires spring.boot.autoconfigure;
    requires spring.context;
    requires spring.core;
    requires static spring.web;
    requires static org.jspecify;

    exports io.github.onewrite.springboot;

    // Spring makes the beans by reflection.
    opens io.github.onewrite.springboot to
            spring.beans,
            spring.context,
            spring.core;
}
