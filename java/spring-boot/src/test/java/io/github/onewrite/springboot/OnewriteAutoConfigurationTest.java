package io.github.onewrite.springboot;

import static io.github.onewrite.testing.SegmentServer.REQUESTS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Outcome;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingHook;
import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.Records;
import io.github.onewrite.testing.SegmentServer;
import io.github.onewrite.testing.TestServer;
import io.github.onewrite.testing.Warnings;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.Banner;
import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.web.client.RestClient;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Flux;
import reactor.netty.http.client.HttpClient;

/** The clients of a real Spring Boot context with all auto-configurations. */
class OnewriteAutoConfigurationTest {
    private final Records records = new Records();
    private final ApplicationContextRunner application =
            new ApplicationContextRunner().withUserConfiguration(Application.class);

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {}

    private interface Post {
        String to(String url);
    }

    private static Post webClient(ApplicationContext context) {
        WebClient web = context.getBean(WebClient.Builder.class).build();
        return url -> web.post()
                .uri(url)
                .body(
                        Flux.just("hel", "lo")
                                .map(text -> DefaultDataBufferFactory.sharedInstance.wrap(
                                        text.getBytes(StandardCharsets.UTF_8))),
                        DataBuffer.class)
                .retrieve()
                .bodyToMono(String.class)
                .block();
    }

    private static Post restClient(ApplicationContext context) {
        RestClient rest = context.getBean(RestClient.Builder.class).build();
        return url -> rest.post().uri(url).body("hello").retrieve().body(String.class);
    }

    private interface Client {
        Post of(ApplicationContext context);
    }

    /** The number of segments of each POST. */
    private static List<Integer> segments(ApplicationContext context, Client client) throws Exception {
        try (SegmentServer server = new SegmentServer()) {
            Post post = client.of(context);
            for (int i = 0; i < REQUESTS; i++) {
                assertEquals("ok", post.to(server.url() + "orders"));
            }
            assertEquals(REQUESTS, server.segments().size());
            return List.copyOf(server.segments());
        }
    }

    private static long inOneSegment(ApplicationContext context, Client client) throws Exception {
        return segments(context, client).stream().filter(count -> count == 1).count();
    }

    private ApplicationContextRunner timed() {
        return application.withBean("records", Records.class, () -> records);
    }

    private void assertOneRecordEach() throws InterruptedException {
        for (int i = 0; i < REQUESTS; i++) {
            Timing timing = records.next();
            assertEquals(Outcome.OK, timing.outcome());
            assertEquals("POST", timing.method());
            assertTrue(timing.url().endsWith("/orders"), timing.url());
        }
        assertTrue(records.isEmpty(), "one record per request");
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void webClientPostsInOneSegmentAndIsTimed() {
        timed().run(context -> {
            long joined = inOneSegment(context, OnewriteAutoConfigurationTest::webClient);
            assertTrue(joined > REQUESTS / 2, joined + " of " + REQUESTS);
            assertOneRecordEach();
        });
    }

    /** RestClient writes the body on another thread: what that publishes after the turn is a second segment. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void restClientIsTimed() {
        timed().run(context -> {
            List<Integer> segments = segments(context, OnewriteAutoConfigurationTest::restClient);
            assertTrue(segments.stream().filter(count -> count <= 2).count() > REQUESTS / 2, segments::toString);
            assertOneRecordEach();
        });
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void disabledIsStock() {
        timed().withPropertyValues("onewrite.disabled=true").run(context -> {
            assertEquals(0, inOneSegment(context, OnewriteAutoConfigurationTest::webClient));
            assertEquals(0, inOneSegment(context, OnewriteAutoConfigurationTest::restClient));
            assertTrue(records.isEmpty(), "no records");
            HttpClient stock = HttpClient.create();
            assertSame(stock, context.getBean(OnewriteReactorNetty.class).apply(stock));
        });
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void observeIsReadToo() {
        timed().withPropertyValues("onewrite.observe=on").run(context -> {
            assertEquals(0, inOneSegment(context, OnewriteAutoConfigurationTest::webClient));
            assertOneRecordEach();
        });
    }

    /** Whether onewrite is off in an application whose own properties switch it off, beside these other sources. */
    private static boolean isStock(Map<String, Object> properties, Map<String, Object> variables) {
        StandardEnvironment environment = new StandardEnvironment();
        environment.getPropertySources().replace("systemProperties", new MapPropertySource("properties", properties));
        environment
                .getPropertySources()
                .replace("systemEnvironment", new SystemEnvironmentPropertySource("systemEnvironment", variables));
        try (ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class)
                .environment(environment)
                .properties("onewrite.disabled=true")
                .web(WebApplicationType.NONE)
                .bannerMode(Banner.Mode.OFF)
                .logStartupInfo(false)
                .run()) {
            HttpClient client = HttpClient.create();
            return context.getBean(OnewriteReactorNetty.class).apply(client) == client;
        }
    }

    @Test
    void systemPropertiesThenTheEnvironmentThenTheApplicationsProperties() {
        Map<String, Object> none = Map.of();
        assertTrue(isStock(none, none));
        assertFalse(isStock(none, Map.of("ONEWRITE_DISABLED", "0")));
        assertFalse(isStock(Map.of("onewrite.disabled", "off"), none));
        assertTrue(isStock(Map.of("onewrite.disabled", "1"), Map.of("ONEWRITE_DISABLED", "0")));
    }

    @Configuration(proxyBeanMethods = false)
    static class Hooks {
        final List<String> called = new CopyOnWriteArrayList<>();

        @Bean
        TimingHook first() {
            return timing -> called.add("first");
        }

        @Bean
        TimingHook failing() {
            return timing -> {
                throw new IllegalStateException("from a hook");
            };
        }

        @Bean
        TimingHook last() {
            return timing -> called.add("last");
        }
    }

    private ApplicationContextRunner application(boolean lazy) {
        return lazy
                ? application.withInitializer(context ->
                        context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor()))
                : application;
    }

    @ParameterizedTest(name = "lazy initialization {0}")
    @ValueSource(booleans = {false, true})
    void eachBeanGetsTheRecord(boolean lazy) {
        application(lazy).withUserConfiguration(Hooks.class).run(context -> {
            try (TestServer server = TestServer.answering()) {
                webClient(context).to(server.url());
            }
            List<String> called = context.getBean(Hooks.class).called;
            Eventually.until(() -> called.size() >= 2);
            assertEquals(List.of("first", "last"), called);
        });
    }

    /** Spring Cloud Function binds beans of the JDK's functional types: a hook among them would unbind the application's. */
    @Test
    void theTypeOfAHookIsNoFunctionOfTheJdk() {
        assertEquals(List.of(), List.of(TimingHook.class.getInterfaces()));
    }

    /** Boot makes a client for each injected builder; they have one pool, as without onewrite. */
    @Test
    void clientsShareTheirPool() {
        timed().run(context -> {
            try (TestServer server = TestServer.answering()) {
                for (int i = 0; i < 10; i++) {
                    restClient(context).to(server.url());
                    assertEquals(Outcome.OK, records.next().outcome());
                }
                assertTrue(server.connections() <= 2, () -> server.connections() + " connections");
            }
        });
    }

    /** The switches are read for the process, too. */
    @Test
    void aBadValueWarnsOnce() {
        try (Warnings warnings = new Warnings()) {
            for (int i = 0; i < 2; i++) {
                application
                        .withPropertyValues("onewrite.quickack=lots")
                        .run(context -> context.getBean(OnewriteReactorNetty.class));
            }
            assertEquals(1, warnings.texts().size(), warnings.texts()::toString);
        }
    }

    /** A hook with a client of its own, as one that reports to a chat, is not needed for that client. */
    @Configuration(proxyBeanMethods = false)
    static class HookWithClients {
        @Bean
        TimingHook alert(WebClient.Builder web, ObjectProvider<RestClient.Builder> rest, AtomicInteger called) {
            WebClient chat = web.build();
            assertNotNull(rest.getObject().build());
            assertNotNull(chat);
            return timing -> called.incrementAndGet();
        }

        @Bean
        AtomicInteger called() {
            return new AtomicInteger();
        }
    }

    @ParameterizedTest(name = "lazy initialization {0}")
    @ValueSource(booleans = {false, true})
    void aHookMayHaveAClient(boolean lazy) {
        application(lazy).withUserConfiguration(HookWithClients.class).run(context -> {
            assertNull(context.getStartupFailure());
            try (TestServer server = TestServer.answering()) {
                webClient(context).to(server.url());
            }
            AtomicInteger called = context.getBean(AtomicInteger.class);
            Eventually.until(() -> called.get() == 1);
        });
    }

    /** The names in the metadata are those that are read. */
    @Test
    void theMetadata() throws Exception {
        Set<String> known = new TreeSet<>();
        OnewriteConfig.read(
                name -> {
                    known.add(name);
                    return null;
                },
                name -> null);
        ClassLoader loader = OnewriteAutoConfiguration.class.getClassLoader();
        String metadata;
        try (InputStream in = loader.getResourceAsStream("META-INF/spring-configuration-metadata.json")) {
            metadata = new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
        Set<String> described = Pattern.compile("\"(onewrite\\.[a-z.]+)\"")
                .matcher(metadata)
                .results()
                .map(found -> found.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
        assertEquals(known, described);
    }

    /** A customizer bean of the application's is used instead. */
    @Test
    void theApplicationsOwnCustomizer() {
        OnewriteReactorNetty own = OnewriteReactorNetty.create().onTiming(records);
        Records unused = new Records();
        application
                .withBean(OnewriteReactorNetty.class, () -> own)
                .withBean("unused", Records.class, () -> unused)
                .run(context -> {
                    assertSame(own, context.getBean(OnewriteReactorNetty.class));
                    try (TestServer server = TestServer.answering()) {
                        webClient(context).to(server.url());
                    }
                    assertEquals(Outcome.OK, records.next().outcome());
                    assertTrue(records.isEmpty() && unused.isEmpty());
                });
    }

    /** With this auto-configuration alone. */
    @Test
    void withoutReactorNettyThereIsNothing() {
        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(OnewriteAutoConfiguration.class))
                .withClassLoader(new FilteredClassLoader(HttpClient.class))
                .run(context -> {
                    assertNull(context.getStartupFailure());
                    assertEquals(0, context.getBeanNamesForType(OnewriteAutoConfiguration.class).length);
                });
    }

    /** Boot 4 has the builders in a module that an application may lack. */
    @Test
    void withoutBootsBuildersThereIsTheCustomizer() {
        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(OnewriteAutoConfiguration.class))
                .withClassLoader(new FilteredClassLoader("org.springframework.boot.http.client"))
                .run(context -> assertNotNull(context.getBean(OnewriteReactorNetty.class)));
    }
}
