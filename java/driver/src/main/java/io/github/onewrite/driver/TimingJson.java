package io.github.onewrite.driver;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingEvent;

/** The timing record and its events under the canonical names. */
final class TimingJson {
    private static final Gson GSON = new Gson();

    private TimingJson() {}

    static JsonObject of(Timing timing) {
        return GSON.toJsonTree(timing.toMap()).getAsJsonObject();
    }

    static JsonObject of(TimingEvent event) {
        return GSON.toJsonTree(event.toMap()).getAsJsonObject();
    }
}
