import io.github.onewrite.Timing;
import io.github.onewrite.client.Body;
import io.github.onewrite.client.OnewriteClient;
import io.github.onewrite.client.Request;
import io.github.onewrite.client.Response;
import java.io.IOException;

/** POSTs to a URL a few times and prints where each call's time went. Run: java -cp … TimedPost.java http://host/path */
public final class TimedPost {
    private TimedPost() {}

    public static void main(String[] args) throws IOException {
        String url = args.length > 0 ? args[0] : "http://127.0.0.1:8080/";
        try (OnewriteClient client =
                OnewriteClient.builder().onTiming(TimedPost::print).build()) {
            for (int i = 1; i <= 3; i++) {
                Response response = client.execute(Request.post(url, Body.of("{\"number\": " + i + "}"))
                        .header("Content-Type", "application/json")
                        .build());
                System.out.println(response.status() + " " + response.text());
            }
        }
    }

    private static void print(Timing timing) {
        System.out.println(timing);
    }
}
