package io.github.onewrite.driver;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingEvent;
import java.lang.reflect.RecordComponent;
import java.util.Locale;

/** The timing record and its events under the canonical names. */
final class TimingJson {
    private TimingJson() {}

    static JsonObject of(Timing timing) {
        return new Gson().toJsonTree(timing.toMap()).getAsJsonObject();
    }

    /** Events are records whose components are the canonical fields in camel case. */
    static JsonObject of(TimingEvent event) {
        JsonObject json = new JsonObject();
        json.addProperty("name", event.name());
        json.addProperty("t_ns", event.timeNanos());
        if (event.attempt() >= 0) {
            json.addProperty("attempt", event.attempt());
        }
        for (RecordComponent component : event.getClass().getRecordComponents()) {
            if (!component.getName().equals("timeNanos") && !component.getName().equals("attempt")) {
                put(json, canonical(component.getName()), value(event, component));
            }
        }
        return json;
    }

    private static Object value(TimingEvent event, RecordComponent component) {
        try {
            return component.getAccessor().invoke(event);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("an event record hides " + component, e);
        }
    }

    private static String canonical(String camelCase) {
        return camelCase.replaceAll("Nanos$", "Ns").replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT);
    }

    private static void put(JsonObject json, String name, Object value) {
        if (value instanceof Outcome outcome) {
            json.addProperty(name, outcome.canonicalName());
        } else if (value instanceof ErrorKind kind) {
            json.addProperty(name, kind.canonicalName());
        } else if (value instanceof Phase phase) {
            json.addProperty(name, phase.canonicalName());
        } else if (value instanceof Boolean flag) {
            json.addProperty(name, flag);
        } else if (value instanceof Number number && number.longValue() != -1) {
            json.addProperty(name, number);
        } else if (value instanceof String text) {
            json.addProperty(name, text);
        }
    }
}
