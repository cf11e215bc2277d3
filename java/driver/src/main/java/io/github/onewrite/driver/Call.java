package io.github.onewrite.driver;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * One request message.
 *
 * @param url unchanged: an invalid one must reach the client, which has to refuse it
 * @param timeoutMs time limit of the whole call, or -1
 * @param cancelAfterMs when to cancel the call, or -1
 * @param read false to abandon the response after its headers
 */
record Call(
        String method,
        String url,
        List<Map.Entry<String, String>> headers,
        Payload body,
        int timeoutMs,
        int cancelAfterMs,
        boolean read) {

    static Call parse(JsonObject json) {
        List<Map.Entry<String, String>> headers = new ArrayList<>();
        if (Json.has(json, "headers")) {
            for (var each : json.getAsJsonArray("headers")) {
                JsonArray pair = each.getAsJsonArray();
                headers.add(Map.entry(pair.get(0).getAsString(), pair.get(1).getAsString()));
            }
        }
        return new Call(
                Json.string(json, "method", "GET"),
                json.get("url").getAsString(),
                headers,
                Payload.parse(Json.has(json, "body") ? json.getAsJsonObject("body") : null),
                Json.integer(json, "timeout_ms", -1),
                Json.integer(json, "cancel_after_ms", -1),
                !Json.string(json, "read", "all").equals("none"));
    }

    /** A plain request of a load or the bridge. */
    static Call bare(String method, String url, Payload body) {
        return new Call(method, url, List.of(), body, -1, -1, true);
    }

    boolean hasHeader(String name) {
        return headers.stream().anyMatch(each -> each.getKey().equalsIgnoreCase(name));
    }
}
