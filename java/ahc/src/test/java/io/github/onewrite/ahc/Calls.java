package io.github.onewrite.ahc;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.Timing;
import io.github.onewrite.TimingEvent;
import io.github.onewrite.TimingListener;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** Records the timings and events of one client's calls. */
final class Calls {
    private final BlockingQueue<Timing> timings = new LinkedBlockingQueue<>();
    private final AtomicReference<List<TimingEvent>> ended = new AtomicReference<>(List.of());

    /** A customizer that is heard here. */
    OnewriteAhc customizer() {
        return OnewriteAhc.create().onTiming(timings::add).listenerFactory((method, url, tag) -> new Recorder());
    }

    private final class Recorder implements TimingListener {
        private final List<TimingEvent> events = new CopyOnWriteArrayList<>();

        @Override
        public void onEvent(TimingEvent event) {
            events.add(event);
            if (event instanceof TimingEvent.CallEnd) {
                ended.set(events);
            }
        }
    }

    Timing next() throws InterruptedException {
        Timing timing = timings.poll(30, TimeUnit.SECONDS);
        assertTrue(timing != null, "no timing in 30 s");
        return timing;
    }

    boolean none() {
        return timings.isEmpty();
    }

    /** The names of the events of the call that ended last. */
    List<String> names() {
        List<TimingEvent> events = ended.get();
        for (int i = 1; i < events.size(); i++) {
            assertTrue(events.get(i - 1).timeNanos() <= events.get(i).timeNanos(), "time runs backwards");
        }
        return events.stream().map(TimingEvent::name).toList();
    }
}
