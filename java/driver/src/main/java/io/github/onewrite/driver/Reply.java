package io.github.onewrite.driver;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.io.ByteArrayOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/** The result of a call. Filled by one client, then written by the protocol. */
final class Reply {
    String outcome = "response";
    Integer status;
    List<Map.Entry<String, String>> headers = List.of();
    long bodyBytes;
    private final MessageDigest digest;
    private final ByteArrayOutputStream kept;
    Throwable error;
    String errorKind;
    String errorPhase;
    long elapsedNanos;

    /** The timing record in canonical form, and how many arrived; null and 0 without hooks. */
    JsonObject timing;

    int timings;
    JsonArray events;

    /** What the caller holds after the call, by the same code with and without the adapter. */
    final JsonObject objects = new JsonObject();

    /** False when the call was cancelled while this driver held it back, before the client had it. */
    boolean called = true;

    Reply(Call call) {
        this(call.keep());
    }

    /** The reply to a message that has no call. */
    Reply() {
        this(Call.Keep.COUNT);
    }

    private Reply(Call.Keep keep) {
        kept = keep == Call.Keep.CONTENT ? new ByteArrayOutputStream() : null;
        try {
            digest = keep == Call.Keep.HASH ? MessageDigest.getInstance("SHA-256") : null;
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }

    void body(byte[] chunk) {
        bodyBytes += chunk.length;
        if (digest != null) {
            digest.update(chunk);
        }
        if (kept != null) {
            kept.writeBytes(chunk);
        }
    }

    byte[] content() {
        return kept.toByteArray();
    }

    Reply failed(Throwable cause, String kind) {
        outcome = "error";
        error = cause;
        errorKind = kind;
        return this;
    }

    Reply cancelled() {
        outcome = "cancelled";
        return this;
    }

    boolean ok() {
        return outcome.equals("response");
    }

    JsonObject toJson() {
        JsonObject json = new JsonObject();
        json.addProperty("outcome", outcome);
        if (status != null) {
            json.addProperty("status", status);
            json.add("headers", Json.pairs(headers));
            json.addProperty("body_bytes", bodyBytes);
            if (digest != null) {
                json.addProperty("body_sha256", HexFormat.of().formatHex(digest.digest()));
            }
        }
        if (error != null) {
            json.add("error", errorJson());
        }
        json.addProperty("elapsed_us", elapsedNanos / 1000);
        json.add("objects", objects);
        if (!called) {
            json.addProperty("called", false);
            return json;
        }
        if (timing != null) {
            json.add("timing", timing);
        }
        if (events != null) {
            json.addProperty("timings", timings);
            json.add("events", events);
        }
        return json;
    }

    private JsonObject errorJson() {
        JsonObject json = new JsonObject();
        json.addProperty("kind", errorKind);
        json.addProperty("phase", errorPhase);
        json.addProperty("type", error.getClass().getName());
        json.addProperty("message", String.valueOf(error.getMessage()));
        JsonArray also = new JsonArray();
        for (Class<?> each = error.getClass().getSuperclass(); each != Object.class; each = each.getSuperclass()) {
            also.add(each.getName());
        }
        json.add("also", also);
        return json;
    }
}
