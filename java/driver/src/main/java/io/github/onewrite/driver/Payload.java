package io.github.onewrite.driver;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ScheduledExecutorService;
import reactor.core.publisher.Flux;
import reactor.core.scheduler.Schedulers;

/** The body a request message describes, ready to be handed to a client in that client's own form. */
sealed interface Payload {

    /** The body kind as the protocol names it. */
    String kind();

    /** The Content-Length to announce, or -1 for chunked. */
    default long length() {
        throw new Skip("this client has no " + kind() + " bodies");
    }

    record None() implements Payload {
        @Override
        public long length() {
            return 0;
        }

        @Override
        public String kind() {
            return "none";
        }
    }

    record Memory(String kind, byte[] bytes) implements Payload {
        @Override
        public long length() {
            return bytes.length;
        }
    }

    record OpenFile(Path path, long size) implements Payload {
        @Override
        public long length() {
            return size;
        }

        @Override
        public String kind() {
            return "file";
        }
    }

    record Form(List<Map.Entry<String, String>> fields) implements Payload {
        @Override
        public String kind() {
            return "form";
        }
    }

    /** A value is text, or a file's bytes when it has a file name. */
    record Part(String name, String value, String fileName, byte[] content) {}

    record Multipart(List<Part> parts) implements Payload {
        @Override
        public String kind() {
            return "multipart";
        }
    }

    /**
     * A body in chunks, with a pause between them.
     *
     * @param declaredSize the Content-Length to announce, or -1 for chunked
     */
    record Stream(List<byte[]> chunks, long declaredSize, long gapMs) implements Payload {
        @Override
        public long length() {
            return declaredSize;
        }

        /** The chunks. Pauses are tasks of the timer. */
        Flux<byte[]> published(ScheduledExecutorService timer) {
            Flux<byte[]> all = Flux.fromIterable(chunks);
            return gapMs == 0
                    ? all
                    : Flux.concat(
                            all.take(1),
                            all.skip(1).delayElements(Duration.ofMillis(gapMs), Schedulers.fromExecutor(timer)));
        }

        @Override
        public String kind() {
            return "stream";
        }
    }

    static Payload parse(JsonObject json) {
        if (json == null) {
            return new None();
        }
        byte fill = (byte) Json.string(json, "fill", "x").charAt(0);
        String kind = json.get("kind").getAsString();
        return switch (kind) {
            case "none" -> new None();
            case "bytes", "text", "memory_file" -> new Memory(kind, content(json, fill));
            case "file" -> file(content(json, fill));
            case "form" -> form(json.getAsJsonArray("fields"));
            case "multipart" -> multipart(json.getAsJsonArray("fields"), fill);
            case "stream" -> stream(json, fill);
            default -> throw new Skip("body kind " + kind + " is unknown to this driver");
        };
    }

    private static byte[] content(JsonObject json, byte fill) {
        if (Json.has(json, "b64")) {
            return Base64.getDecoder().decode(json.get("b64").getAsString());
        }
        if (Json.has(json, "text")) {
            return json.get("text").getAsString().getBytes(StandardCharsets.UTF_8);
        }
        return filled(Json.integer(json, "size", 0), fill);
    }

    private static byte[] filled(int size, byte fill) {
        byte[] bytes = new byte[size];
        Arrays.fill(bytes, fill);
        return bytes;
    }

    private static Payload file(byte[] content) {
        try {
            Path path = Files.createTempFile("onewrite-driver", ".body");
            path.toFile().deleteOnExit();
            Files.write(path, content);
            return new OpenFile(path, content.length);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Payload form(JsonArray list) {
        List<Map.Entry<String, String>> fields = new ArrayList<>();
        for (var each : list) {
            JsonArray pair = each.getAsJsonArray();
            fields.add(Map.entry(pair.get(0).getAsString(), pair.get(1).getAsString()));
        }
        return new Form(fields);
    }

    private static Payload multipart(JsonArray list, byte fill) {
        List<Part> parts = new ArrayList<>();
        for (var each : list) {
            JsonObject field = each.getAsJsonObject();
            String name = field.get("name").getAsString();
            if (Json.has(field, "filename")) {
                parts.add(new Part(
                        name, null, field.get("filename").getAsString(), filled(Json.integer(field, "size", 0), fill)));
            } else {
                parts.add(new Part(name, field.get("value").getAsString(), null, null));
            }
        }
        return new Multipart(parts);
    }

    private static Payload stream(JsonObject json, byte fill) {
        List<byte[]> chunks = new ArrayList<>();
        long sum = 0;
        for (var each : json.getAsJsonArray("chunks")) {
            chunks.add(filled(each.getAsInt(), fill));
            sum += each.getAsInt();
        }
        long declared = Json.bool(json, "length", false) ? Json.integer(json, "declared_size", (int) sum) : -1;
        return new Stream(chunks, declared, Json.integer(json, "gap_ms", 0));
    }
}
