import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;

/** The JDK's HttpClient as people use it. usage: java HttpClientProgram.java URL COUNT */
final class HttpClientProgram {
    public static void main(String[] args) throws Exception {
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        HttpRequest request = HttpRequest.newBuilder(URI.create(args[0]))
                .POST(HttpRequest.BodyPublishers.ofString("x".repeat(200)))
                .build();
        for (int turn = 0; turn < Integer.parseInt(args[1]); turn++) {
            client.send(request, BodyHandlers.ofString());
        }
        System.exit(0);
    }
}
