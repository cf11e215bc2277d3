package io.github.onewrite.driver;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.List;
import java.util.Map;

/** Optional members and lists of Gson's objects. */
final class Json {
    private Json() {}

    static boolean has(JsonObject json, String name) {
        JsonElement value = json.get(name);
        return value != null && !value.isJsonNull();
    }

    static String string(JsonObject json, String name, String absent) {
        return has(json, name) ? json.get(name).getAsString() : absent;
    }

    static int integer(JsonObject json, String name, int absent) {
        return has(json, name) ? json.get(name).getAsInt() : absent;
    }

    static double number(JsonObject json, String name, double absent) {
        return has(json, name) ? json.get(name).getAsDouble() : absent;
    }

    static boolean bool(JsonObject json, String name, boolean absent) {
        return has(json, name) ? json.get(name).getAsBoolean() : absent;
    }

    static JsonArray strings(List<String> values) {
        JsonArray array = new JsonArray();
        values.forEach(array::add);
        return array;
    }

    static JsonArray pairs(List<Map.Entry<String, String>> pairs) {
        JsonArray array = new JsonArray();
        for (Map.Entry<String, String> pair : pairs) {
            array.add(strings(List.of(pair.getKey(), pair.getValue())));
        }
        return array;
    }
}
