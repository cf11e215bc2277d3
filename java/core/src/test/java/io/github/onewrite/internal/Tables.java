package io.github.onewrite.internal;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** The tables of spec/testdata, which all languages run. */
public final class Tables {
    private static final Path FOLDER = Path.of("..", "..", "spec", "testdata");

    private Tables() {}

    public static JsonObject read(String name) {
        try {
            return JsonParser.parseString(Files.readString(FOLDER.resolve(name + ".json")))
                    .getAsJsonObject();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static Stream<JsonObject> rows(String name) {
        return read(name).getAsJsonArray("rows").asList().stream().map(JsonElement::getAsJsonObject);
    }
}
