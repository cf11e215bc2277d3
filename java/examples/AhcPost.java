import io.github.onewrite.ahc.OnewriteAhc;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import org.asynchttpclient.AsyncHttpClient;
import org.asynchttpclient.Dsl;

/** POSTs a stream with AsyncHttpClient, in one write, and prints where the call's time went. */
public final class AhcPost {
    private AhcPost() {}

    public static void main(String[] args) throws Exception {
        String url = System.getenv().getOrDefault("ONEWRITE_EXAMPLE_URL", "http://127.0.0.1:8080/");
        OnewriteAhc onewrite = OnewriteAhc.create().onTiming(System.out::println);
        try (AsyncHttpClient client = Dsl.asyncHttpClient(onewrite.apply(Dsl.config()))) {
            var body = new ByteArrayInputStream("hello".getBytes(StandardCharsets.UTF_8));
            System.out.println(client.preparePost(url).setBody(body).execute().get().getResponseBody());
        }
    }
}
