import io.github.onewrite.okhttp.OnewriteOkHttp;
import java.io.IOException;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;

/** POSTs with OkHttp, on a socket with TCP_NODELAY, and prints where the call's time went. */
public final class OkHttpPost {
    private OkHttpPost() {}

    public static void main(String[] args) throws IOException {
        String url = System.getenv().getOrDefault("ONEWRITE_EXAMPLE_URL", "http://127.0.0.1:8080/");
        OkHttpClient client = OnewriteOkHttp.create()
                .onTiming(System.out::println)
                .apply(new OkHttpClient.Builder())
                .build();
        RequestBody body = RequestBody.create("hello", MediaType.get("text/plain"));
        Request request = new Request.Builder().url(url).post(body).build();
        try (Response response = client.newCall(request).execute()) {
            System.out.println(response.code() + " " + response.body().string());
        }
    }
}
