package io.github.onewrite.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.Status;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingEvent;
import io.github.onewrite.TimingListener;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TimedCallTest {
    private final List<Timing> timings = new ArrayList<>();
    private final List<TimingEvent> events = new ArrayList<>();
    private final AtomicLong errors = new AtomicLong();
    private final TimingListener listener = events::add;
    private long now = System.nanoTime();

    private Hooks hooks(Consumer<? super Timing> consumer, TimingListener.Factory factory) {
        return new Hooks(List.of(consumer), List.of(factory), errors);
    }

    private TimedCall start() {
        return start(hooks(timings::add, (method, url, tag) -> listener));
    }

    private static TimedCall start(Hooks hooks) {
        return TimedCall.start(hooks, "POST", "http://127.0.0.1/", null);
    }

    /** A moment, a millisecond after the last one. */
    private long at() {
        now = Math.max(now, System.nanoTime()) + 1_000_000;
        return now;
    }

    private String names() {
        return String.join(" ", events.stream().map(TimingEvent::name).toList());
    }

    @Test
    void nothingListensNothingIsTimed() {
        assertNull(start(new Hooks(List.of(), List.of(), errors)));
        Setup setup = new Setup(() -> new Status.Base("none", null));
        setup.onTiming(timings::add);
        setup.config(OnewriteConfig.defaults().withHooksDisabled(true));
        assertNull(start(setup.hooks()));
    }

    @Test
    void theHookGetsTheObjectThatTookTheTimes() {
        TimedCall call = start();
        call.attempt(at());
        call.completed(at());
        assertSame(call, timings.get(0));
    }

    /** The phase in which an attempt ends lasts until its end, whatever ended it. */
    @ParameterizedTest
    @EnumSource(
            value = Phase.class,
            names = {"TOTAL"},
            mode = EnumSource.Mode.EXCLUDE)
    void aPhaseThatFailedLastsUntilTheEnd(Phase failed) {
        TimedCall call = start();
        call.attempt(at());
        List<Runnable> steps = List.of(
                () -> call.begin(Phase.QUEUE, at()),
                () -> {
                    call.end(Phase.QUEUE, at());
                    call.begin(Phase.DNS, at(), "localhost");
                },
                () -> {
                    call.end(Phase.DNS, at());
                    call.begin(Phase.CONNECT, at(), null);
                },
                () -> {
                    call.end(Phase.CONNECT, at());
                    call.begin(Phase.TLS, at());
                },
                () -> {
                    call.end(Phase.TLS, at());
                    call.connectionAcquired(1, -1, 1);
                    call.begin(Phase.SEND, at());
                },
                () -> call.requestEnd(at(), 10, 1),
                () -> call.responseStart(at()));
        steps.subList(0, failed.ordinal() + 1).forEach(Runnable::run);
        call.failed(at(), ErrorKind.TIMEOUT, new IllegalStateException("late"));
        Timing timing = timings.get(0);
        assertEquals(failed, timing.errorPhase().orElseThrow());
        TimedAttempt attempt = (TimedAttempt) timing.attempts().get(0);
        for (Phase phase : Phase.values()) {
            boolean happened = phase == Phase.TOTAL || phase.compareTo(failed) <= 0;
            assertEquals(happened, attempt.nanos(phase).isPresent(), phase::canonicalName);
        }
        assertEquals(
                attempt.startOf(Phase.TOTAL) + attempt.totalNanos().getAsLong(),
                attempt.startOf(failed) + attempt.nanos(failed).getAsLong());
    }

    @Test
    void aBodyThatTheCallerGaveUpHasNoReceive() {
        TimedCall call = start();
        call.attempt(at());
        call.begin(Phase.SEND, at());
        call.requestEnd(at(), 1, 1);
        call.responseStart(at());
        call.headersEnd(200);
        call.completed(at());
        assertTrue(timings.get(0).receiveNanos().isEmpty());
        assertTrue(timings.get(0).waitNanos().isPresent());
    }

    @Test
    void whatStartedEndsBeforeTheAttempt() {
        TimedCall call = start();
        call.attempt(at());
        call.begin(Phase.DNS, at(), "localhost");
        call.end(Phase.DNS, at());
        call.begin(Phase.CONNECT, at(), null);
        call.failed(at(), ErrorKind.CONNECT, new IllegalStateException());
        assertEquals(
                "call_start attempt_start dns_start dns_end connect_start connect_end attempt_end call_end", names());
        assertEquals("IllegalStateException", events.get(5).error().orElseThrow());
    }

    @Test
    void lateStepsChangeNothing() {
        TimedCall call = start();
        call.attempt(at());
        call.cancelled(at());
        call.begin(Phase.CONNECT, at(), null);
        call.begin(Phase.SEND, at());
        call.responseStart(at());
        call.attempt(at());
        call.completed(at());
        assertEquals("call_start attempt_start attempt_end call_end", names());
        assertEquals(1, timings.size());
        assertEquals(Outcome.CANCELLED, timings.get(0).outcome());
    }

    /** A response that begins before the request's end: no send, no wait, and no negative times. */
    @Test
    void anEarlyAnswer() {
        TimedCall call = start();
        call.attempt(at());
        call.connectionAcquired(1, -1, 1);
        call.begin(Phase.SEND, at());
        call.responseStart(0);
        call.headersEnd(413);
        call.requestEnd(at(), 10, 1);
        call.responseEnd(at(), 0);
        call.completed(at());
        assertEquals(
                "call_start attempt_start connection_acquired request_start response_start headers_end response_end"
                        + " attempt_end call_end",
                names());
        assertTrue(timings.get(0).sendNanos().isEmpty());
        assertTrue(timings.get(0).waitNanos().isEmpty());
        assertTrue(timings.get(0).receiveNanos().isPresent());
    }

    @Test
    void attemptsStartAfresh() {
        TimedCall call = start();
        call.attempt(at());
        call.begin(Phase.DNS, at(), "a");
        call.end(Phase.DNS, at());
        call.attemptEnd(at(), Outcome.ERROR, new IllegalStateException("lost"));
        call.attempt(at());
        call.connectionAcquired(2, 5, 2);
        call.completed(at());
        assertEquals(2, timings.get(0).attempts().size());
        assertTrue(timings.get(0).dnsNanos().isEmpty(), "the shortcuts are the last attempt's");
        assertEquals(1, timings.get(0).lastAttempt().orElseThrow().index());
    }

    @Test
    void theErrorOfALostAttemptHasItsPhase() {
        TimedCall call = start();
        call.attempt(at());
        call.begin(Phase.SEND, at());
        call.attemptEnd(at(), Outcome.ERROR, new IllegalStateException("lost"));
        call.failed(at(), ErrorKind.RESET, new IllegalStateException("given up"));
        assertEquals(Phase.SEND, timings.get(0).errorPhase().orElseThrow());
    }

    /** Whatever a hook throws, the call goes on, and the next hook is called. */
    @Test
    void anythingThatAHookThrowsIsCounted() {
        Error unprintable = new Error() {
            private static final long serialVersionUID = 1L;

            @Override
            public String toString() {
                throw new StackOverflowError();
            }
        };
        TimingListener throwing = event -> {
            throw unprintable;
        };
        Hooks hooks = new Hooks(
                List.of(
                        timing -> {
                            throw new StackOverflowError();
                        },
                        timings::add),
                List.of((method, url, tag) -> throwing, (method, url, tag) -> listener, (method, url, tag) -> null),
                errors);
        TimedCall call = start(hooks);
        call.attempt(at());
        call.completed(at());
        assertEquals("call_start attempt_start attempt_end call_end", names());
        assertEquals(1, timings.size());
        assertEquals(6, errors.get());
    }

    /** A request that a hook makes is a call of its own, of which that hook does not hear. */
    @Test
    void aHookDoesNotCallItself() {
        AtomicReference<Hooks> hooks = new AtomicReference<>();
        AtomicInteger called = new AtomicInteger();
        hooks.set(new Hooks(
                List.of(
                        timing -> {
                            called.incrementAndGet();
                            TimedCall nested = start(hooks.get());
                            nested.completed(at());
                        },
                        timings::add),
                List.of(),
                errors));
        start(hooks.get()).completed(at());
        assertEquals(1, called.get());
        assertEquals(2, timings.size(), "the other hook hears of both");
        assertEquals(0, errors.get());
    }

    /** A program that makes one call has the right date, too. */
    @Test
    void theFirstRecordIsDatedNow() {
        long before = TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis() - 1000);
        start().completed(at());
        assertTrue(
                timings.get(0).startedAtUnixNanos() > before,
                () -> timings.get(0).startedAtUnixNanos() + " ns");
    }

    /** What a hook does to the call that it listens to comes after the hook, and nothing comes after the end. */
    @Test
    void aListenerMayEndItsCall() {
        AtomicReference<TimedCall> call = new AtomicReference<>();
        List<String> heard = new ArrayList<>();
        TimingListener ending = event -> {
            heard.add(event.name() + " begins");
            if (event.type() == TimingEvent.Type.REQUEST_START) {
                call.get().cancelled(at());
                call.get().responseStart(at());
            }
            heard.add(event.name() + " ends");
        };
        call.set(start(hooks(
                timing -> {
                    timings.add(timing);
                    heard.add("record");
                },
                (method, url, tag) -> ending)));
        call.get().attempt(at());
        call.get().begin(Phase.SEND, at());
        assertEquals(
                List.of(
                        "request_start begins",
                        "request_start ends",
                        "attempt_end begins",
                        "attempt_end ends",
                        "call_end begins",
                        "call_end ends",
                        "record"),
                heard.subList(4, heard.size()));
        assertEquals(1, timings.size());
    }

    @Test
    void aListenerMayEndItsCallInItsLastEvents() {
        AtomicReference<TimedCall> call = new AtomicReference<>();
        call.set(start(hooks(timings::add, (method, url, tag) -> event -> {
            events.add(event);
            if (event.type() == TimingEvent.Type.ATTEMPT_END || event.type() == TimingEvent.Type.CALL_END) {
                call.get().cancelled(at());
                call.get().attempt(at());
            }
        })));
        call.get().attempt(at());
        call.get().completed(at());
        assertEquals("call_start attempt_start attempt_end call_end", names());
        assertEquals(1, timings.size());
        assertEquals(Outcome.OK, timings.get(0).outcome());
    }

    /** A hook that is slow on one thread holds no other thread. */
    @Test
    void stepsOfTwoThreadsAreTakenInOrder() throws Exception {
        CountDownLatch inHook = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        List<String> heard = new CopyOnWriteArrayList<>();
        TimingListener slow = event -> {
            heard.add(event.name());
            if (event.type() == TimingEvent.Type.CONNECT_START) {
                inHook.countDown();
                try {
                    assertTrue(go.await(30, TimeUnit.SECONDS));
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        };
        TimedCall call = start(hooks(timings::add, (method, url, tag) -> slow));
        HookQueue queue = new HookQueue();
        queue.run(() -> call.attempt(at()));
        Thread first = new Thread(() -> queue.run(() -> call.begin(Phase.CONNECT, at(), null)));
        first.start();
        assertTrue(inHook.await(30, TimeUnit.SECONDS));
        queue.run(() -> call.end(Phase.CONNECT, at()));
        queue.run(() -> call.completed(at()));
        assertTrue(timings.isEmpty(), "the first thread takes the rest");
        go.countDown();
        first.join(30_000);
        assertEquals(
                List.of("call_start", "attempt_start", "connect_start", "connect_end", "attempt_end", "call_end"),
                heard);
        assertEquals(1, timings.size());
    }

    @Test
    void aQueueLosesNoStep() throws Exception {
        HookQueue queue = new HookQueue();
        int[] taken = new int[1];
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            Thread thread = new Thread(() -> {
                for (int k = 0; k < 20_000; k++) {
                    queue.run(() -> taken[0]++);
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread each : threads) {
            each.join(30_000);
        }
        queue.run(() -> {});
        assertEquals(80_000, taken[0]);
    }
}
