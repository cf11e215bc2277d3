package io.github.onewrite.driver;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import com.google.gson.JsonSerializer;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingEvent;
import java.util.Locale;

/** The timing record and its events under the canonical names. Fields of events have them in camel case. */
final class TimingJson {
    private static final Gson GSON = new GsonBuilder()
            .setFieldNamingStrategy(field -> field.getName().equals("timeNanos")
                    ? "t_ns"
                    : snakeCase(field.getName().replaceAll("Nanos$", "Ns")))
            .registerTypeHierarchyAdapter(Enum.class, (JsonSerializer<Enum<?>>)
                    (value, type, context) -> new JsonPrimitive(value.name().toLowerCase(Locale.ROOT)))
            .create();

    private TimingJson() {}

    static JsonObject of(Timing timing) {
        return GSON.toJsonTree(timing.toMap()).getAsJsonObject();
    }

    static JsonObject of(TimingEvent event) {
        JsonObject json = GSON.toJsonTree(event).getAsJsonObject();
        // What is absent is -1.
        json.entrySet().removeIf(each -> each.getValue().toString().equals("-1"));
        json.addProperty("name", event.name());
        return json;
    }

    private static String snakeCase(String camelCase) {
        return camelCase.replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT);
    }
}
