package io.github.onewrite.bench;

import io.github.onewrite.okhttp.OnewriteOkHttp;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** As {@link Post}, of OkHttp. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 100, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 24, time = 100, timeUnit = TimeUnit.MILLISECONDS)
public class PostOkHttp extends Turns {
    @Param({"stock", "stockAgain", "onewrite", "onTiming"})
    public Variant variant;

    @Param("200")
    public int size;

    private OkHttpClient client;
    private Request request;

    @Setup
    public void open() throws IOException {
        OkHttpClient.Builder builder = new OkHttpClient.Builder();
        client = (variant.isOnewrite() ? variant.hooked(OnewriteOkHttp.create()).apply(builder) : builder).build();
        request = new Request.Builder()
                .url("http://127.0.0.1:" + Integer.getInteger("origin") + "/")
                .post(RequestBody.create(new byte[size]))
                .build();
        for (int i = 0; i < Integer.getInteger("warm", 20_000); i++) {
            oneCaller();
        }
        join();
    }

    @TearDown
    public void close() throws IOException {
        leave();
        client.connectionPool().evictAll();
        client.dispatcher().executorService().shutdown();
    }

    @Benchmark
    public int oneCaller() throws IOException {
        try (Response response = client.newCall(request).execute()) {
            return response.body().bytes().length;
        }
    }
}
