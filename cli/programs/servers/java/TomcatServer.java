import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** Tomcat, embedded, with a servlet of one small answer. */
final class TomcatServer {
    public static void main(String[] arguments) throws Exception {
        byte[] body = "x".repeat(200).getBytes(StandardCharsets.UTF_8);
        String folder = Files.createDirectories(Path.of("java/target/tomcat").toAbsolutePath()).toString();
        Tomcat tomcat = new Tomcat();
        tomcat.setSilent(true);
        tomcat.setBaseDir(folder);
        tomcat.setHostname("127.0.0.1");
        tomcat.setPort(Integer.parseInt(arguments[0]));
        tomcat.getConnector();
        Context context = tomcat.addContext("", folder);
        Tomcat.addServlet(context, "small", new HttpServlet() {
            @Override
            protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
                response.setContentType("text/plain");
                response.setContentLength(body.length);
                response.getOutputStream().write(body);
            }
        });
        context.addServletMappingDecoded("/", "small");
        tomcat.start();
        tomcat.getServer().await();
    }
}
