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
import io.github.onewrite.TimingEvent;
import io.github.onewrite.TimingListener;
import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import io.github.onewrite.testing.Calls;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.SegmentServer;
import io.github.onewrite.testing.Warnings;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
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
    private final Calls calls = new Calls();
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

    private ApplicationContextRunner heard() {
        return application.withBean("records", Calls.class, () -> calls);
    }

    private void assertOneRecordEach() throws InterruptedException {
        for (int i = 0; i < REQUESTS; i++) {
            Timing timing = calls.next();
            assertEquals(Outcome.OK, timing.outcome());
            assertEquals("POST", timing.method());
            assertTrue(timing.url().endsWith("/orders"), timing.url());
        }
        assertTrue(calls.none(), "one record per call");
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void webClientPostsInOneSegmentAndIsTimed() {
        heard().run(context -> {
            long joined = inOneSegment(context, OnewriteAutoConfigurationTest::webClient);
            assertTrue(joined > REQUESTS / 2, joined + " of " + REQUESTS);
            assertOneRecordEach();
            assertEquals("call_end", calls.names().get(calls.names().size() - 1), "the listener, too");
        });
    }

    /** RestClient writes the body on another thread: what that publishes after the turn is a second segment. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void restClientIsTimed() {
        heard().run(context -> {
            List<Integer> segments = segments(context, OnewriteAutoConfigurationTest::restClient);
            assertTrue(segments.stream().filter(count -> count <= 2).count() > REQUESTS / 2, segments::toString);
            assertOneRecordEach();
        });
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void disabledIsStock() {
        heard().withPropertyValues("onewrite.disabled=true").run(context -> {
            assertEquals(0, inOneSegment(context, OnewriteAutoConfigurationTest::webClient));
            assertEquals(0, inOneSegment(context, OnewriteAutoConfigurationTest::restClient));
            assertTrue(calls.none(), "no records");
            HttpClient stock = HttpClient.create();
            assertSame(stock, context.getBean(OnewriteReactorNetty.class).apply(stock));
        });
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void theOtherSwitchesAreReadToo() {
        heard().withPropertyValues("onewrite.coalesce.disabled=on", "onewrite.hooks.disabled=1")
                .run(context -> {
                    assertEquals(0, inOneSegment(context, OnewriteAutoConfigurationTest::webClient));
                    assertTrue(calls.none(), "no records");
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
        final List<String> heard = new CopyOnWriteArrayList<>();

        @Bean
        Consumer<Timing> first() {
            return timing -> heard.add("first");
        }

        @Bean
        Consumer<Timing> second() {
            return timing -> heard.add("second");
        }

        @Bean
        Consumer<String> anothers() {
            return text -> heard.add("another's");
        }

        @Bean
        TimingListener listener() {
            return new Listener(() -> heard.add("listener"));
        }
    }

    private record Listener(Runnable told) implements TimingListener {
        @Override
        public void onEvent(TimingEvent event) {
            if (event.type() == TimingEvent.Type.CALL_END) {
                told.run();
            }
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
    void eachBeanIsToldOfACall(boolean lazy) {
        application(lazy).withUserConfiguration(Hooks.class).run(context -> {
            try (SegmentServer server = new SegmentServer()) {
                webClient(context).to(server.url());
            }
            List<String> heard = context.getBean(Hooks.class).heard;
            Eventually.until(() -> heard.size() >= 3);
            assertEquals(
                    List.of("first", "listener", "second"),
                    heard.stream().sorted().toList());
        });
    }

    /** A hook with a client of its own, as one that reports to a chat, is not needed for that client. */
    @Configuration(proxyBeanMethods = false)
    static class HookWithClients {
        @Bean
        Consumer<Timing> alert(WebClient.Builder web, ObjectProvider<RestClient.Builder> rest, AtomicInteger heard) {
            WebClient chat = web.build();
            assertNotNull(rest.getObject().build());
            assertNotNull(chat);
            return timing -> heard.incrementAndGet();
        }

        @Bean
        AtomicInteger heard() {
            return new AtomicInteger();
        }
    }

    @ParameterizedTest(name = "lazy initialization {0}")
    @ValueSource(booleans = {false, true})
    void aHookMayHaveAClient(boolean lazy) {
        application(lazy).withUserConfiguration(HookWithClients.class).run(context -> {
            assertNull(context.getStartupFailure());
            try (SegmentServer server = new SegmentServer()) {
                webClient(context).to(server.url());
            }
            AtomicInteger heard = context.getBean(AtomicInteger.class);
            Eventually.until(() -> heard.get() == 1);
        });
    }

    /** The names in the metadata are those that are read; any other is reported. */
    @Test
    void anUnknownPropertyIsReported() throws Exception {
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
        try (Warnings warnings = new Warnings()) {
            application
                    .withPropertyValues(
                            "onewrite.hooks-disabled=true",
                            "onewrite.Hooks.Dis-abled=false",
                            "onewrite.coalesce.max=100")
                    .run(context -> context.getBean(OnewriteReactorNetty.class));
            assertEquals(List.of("onewrite.hooks-disabled is ignored: the properties are " + known), warnings.texts());
        }
    }

    /** A customizer bean of the application's is used instead. */
    @Test
    void theApplicationsOwnCustomizer() {
        OnewriteReactorNetty own = OnewriteReactorNetty.create().onTiming(calls);
        List<String> heard = new CopyOnWriteArrayList<>();
        application
                .withBean(OnewriteReactorNetty.class, () -> own)
                .withBean(TimingListener.class, () -> new Listener(() -> heard.add("the bean")))
                .run(context -> {
                    assertSame(own, context.getBean(OnewriteReactorNetty.class));
                    try (SegmentServer server = new SegmentServer()) {
                        webClient(context).to(server.url());
                    }
                    assertEquals(Outcome.OK, calls.next().outcome());
                    assertTrue(calls.none() && heard.isEmpty());
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
