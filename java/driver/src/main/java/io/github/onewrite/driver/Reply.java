package io.github.onewrite.driver;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.Timing;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/** The result of a call. Filled by one client, then written by the protocol. */
final class Reply {
    String outcome = "response";
    Integer status;
    List<Map.Entry<String, String>> headers = List.of();
    long bodyBytes;
    private final MessageDigest digest;
    Throwable error;
    String errorKind;
    String errorPhase;
    long elapsedNanos;

    /** In canonical form; null without hooks. */
    JsonArray records;

    Reply() {
        try {
            digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }

    void body(byte[] chunk) {
        bodyBytes += chunk.length;
        digest.update(chunk);
    }

    /** A caller sees the error, and nothing of the response. Its kind is in the record, if there is one. */
    Reply failed(Throwable cause) {
        outcome = "error";
        status = null;
        error = unwrap(cause);
        errorKind = "other";
        return this;
    }

    static Throwable unwrap(Throwable error) {
        boolean wrapped = error instanceof CompletionException || error instanceof ExecutionException;
        return wrapped && error.getCause() != null ? unwrap(error.getCause()) : error;
    }

    Reply cancelled() {
        outcome = "cancelled";
        status = null;
        return this;
    }

    /** Whether a record can be the last one of this call. */
    boolean isTold(Timing record) {
        return ok() == (record.outcome() == Outcome.OK)
                && (!ok() || record.status().orElse(-1) == status);
    }

    /** The judge tests the adapter's own view of the error. */
    void judgedBy(Timing record) {
        errorKind = record.errorKind().map(ErrorKind::canonicalName).orElse(errorKind);
        errorPhase = record.errorPhase().map(Phase::canonicalName).orElse(null);
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
            json.addProperty("body_sha256", HexFormat.of().formatHex(digest.digest()));
        }
        if (error != null) {
            json.add("error", errorJson());
        }
        json.addProperty("elapsed_us", elapsedNanos / 1000);
        if (records != null) {
            json.add("records", records);
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
