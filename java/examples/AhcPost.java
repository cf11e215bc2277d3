import io.github.onewrite.ahc.OnewriteAhc;
import org.asynchttpclient.AsyncHttpClient;
import org.asynchttpclient.Dsl;

/** POSTs with AsyncHttpClient, and prints where the time of the exchange went. */
public final class AhcPost {
    private AhcPost() {}

    public static void main(String[] args) throws Exception {
        String url = System.getenv().getOrDefault("ONEWRITE_EXAMPLE_URL", "http://127.0.0.1:8080/");
        OnewriteAhc onewrite = OnewriteAhc.create().onTiming(System.out::println);
        try (AsyncHttpClient client = Dsl.asyncHttpClient(onewrite.apply(Dsl.config()))) {
            System.out.println(client.preparePost(url).setBody("hello").execute().get().getResponseBody());
        }
    }
}
