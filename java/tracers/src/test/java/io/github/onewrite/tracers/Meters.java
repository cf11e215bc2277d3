package io.github.onewrite.tracers;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import java.util.List;

/** Micrometer's meters as text. */
final class Meters {
    private Meters() {}

    static ObservationRegistry observed(MeterRegistry registry) {
        ObservationRegistry observations = ObservationRegistry.create();
        observations.observationConfig().observationHandler(new DefaultMeterObservationHandler(registry));
        return observations;
    }

    /** The timers of this name with their counts, without tags that differ between servers. */
    static List<String> of(MeterRegistry registry, String name) {
        return registry.getMeters().stream()
                .filter(meter -> meter.getId().getName().equals(name))
                // A registry that joins the global one gets the meters of earlier registries, with count 0.
                .filter(meter -> !(meter instanceof Timer timer) || timer.count() > 0)
                .map(Meters::words)
                .sorted()
                .toList();
    }

    private static String words(Meter meter) {
        List<Tag> tags = meter.getId().getTags().stream()
                .filter(tag -> !tag.getKey().contains("port") && !tag.getKey().equals("remote.address"))
                .filter(tag -> !tag.getKey().equals("uri") && !tag.getKey().equals("error"))
                .toList();
        String count = meter instanceof Timer timer ? " " + timer.count() : "";
        return meter.getId().getName() + " " + tags + count;
    }
}
