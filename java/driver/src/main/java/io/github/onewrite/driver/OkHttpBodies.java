package io.github.onewrite.driver;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import okhttp3.FormBody;
import okhttp3.MediaType;
import okhttp3.MultipartBody;
import okhttp3.RequestBody;
import okio.Buffer;
import okio.BufferedSink;

/** Request bodies in OkHttp's own forms. */
final class OkHttpBodies {
    private static final Set<String> NEEDS_BODY = Set.of("POST", "PUT", "PATCH");
    private static final MediaType NONE = null;

    private OkHttpBodies() {}

    static RequestBody of(Call call) {
        Payload payload = call.body();
        if (payload instanceof Payload.Memory memory) {
            return switch (memory.kind()) {
                case "text" -> RequestBody.create(new String(memory.bytes(), StandardCharsets.UTF_8), NONE);
                case "memory_file" ->
                    RequestBody.create(new Buffer().write(memory.bytes()).readByteString(), NONE);
                default -> RequestBody.create(memory.bytes(), NONE);
            };
        }
        if (payload instanceof Payload.OpenFile file) {
            return RequestBody.create(file.path().toFile(), NONE);
        }
        if (payload instanceof Payload.Form form) {
            FormBody.Builder builder = new FormBody.Builder();
            form.fields().forEach(field -> builder.add(field.getKey(), field.getValue()));
            return builder.build();
        }
        if (payload instanceof Payload.Multipart multipart) {
            return multipart(multipart);
        }
        if (payload instanceof Payload.Stream stream) {
            return new Streamed(stream);
        }
        return NEEDS_BODY.contains(call.method()) ? RequestBody.create(new byte[0], NONE) : null;
    }

    private static RequestBody multipart(Payload.Multipart multipart) {
        MultipartBody.Builder builder = new MultipartBody.Builder().setType(MultipartBody.FORM);
        for (Payload.Part part : multipart.parts()) {
            if (part.fileName() == null) {
                builder.addFormDataPart(part.name(), part.value());
            } else {
                builder.addFormDataPart(part.name(), part.fileName(), RequestBody.create(part.content(), NONE));
            }
        }
        return builder.build();
    }

    private static final class Streamed extends RequestBody {
        private final Payload.Stream stream;

        Streamed(Payload.Stream stream) {
            this.stream = stream;
        }

        @Override
        public MediaType contentType() {
            return NONE;
        }

        @Override
        public long contentLength() {
            return stream.declaredSize();
        }

        @Override
        public void writeTo(BufferedSink sink) throws IOException {
            for (int i = 0; i < stream.chunks().size(); i++) {
                if (i > 0 && stream.gapMs() > 0) {
                    pause(sink);
                }
                sink.write(stream.chunks().get(i));
            }
        }

        private void pause(BufferedSink sink) throws IOException {
            sink.flush();
            try {
                Thread.sleep(stream.gapMs());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException();
            }
        }
    }
}
