// 20 POSTs by a client of the JDK. usage: Client.java url|stream|http URL
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

class Client {
    public static void main(String[] arguments) throws Exception {
        URI url = URI.create(arguments[1]);
        byte[] body = "x".repeat(200).getBytes();
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        for (int turn = 0; turn < 20; turn++) {
            if (arguments[0].equals("http")) {
                HttpRequest request = HttpRequest.newBuilder(url).POST(HttpRequest.BodyPublishers.ofByteArray(body)).build();
                client.send(request, HttpResponse.BodyHandlers.ofString());
                continue;
            }
            HttpURLConnection connection = (HttpURLConnection) url.toURL().openConnection();
            connection.setRequestMethod("POST");
            connection.setDoOutput(true);
            if (arguments[0].equals("stream")) {
                connection.setFixedLengthStreamingMode(body.length);
            }
            try (OutputStream out = connection.getOutputStream()) {
                out.write(body);
            }
            connection.getInputStream().readAllBytes();
        }
    }
}
