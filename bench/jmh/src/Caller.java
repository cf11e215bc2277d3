import com.sun.management.ThreadMXBean;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * The process of one variant: {@code Caller VARIANT URL}. Each line of standard input has a number of callers and a number
 * of POSTs; it makes them. Then it prints the nanoseconds they took and the bytes that its threads allocated.
 */
public final class Caller {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private Caller() {}

    public static void main(String[] arguments) throws Exception {
        EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        Poster poster = Poster.of(arguments[0], URI.create(arguments[1]), new byte[200], group);
        ExecutorService threads = Executors.newCachedThreadPool();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int callers = Integer.parseInt(line.split(" ")[0]);
            int calls = Integer.parseInt(line.split(" ")[1]) / callers;
            List<Callable<Void>> work = new ArrayList<>();
            for (int i = 0; i < callers; i++) {
                work.add(() -> {
                    for (int call = 0; call < calls; call++) {
                        if (poster.post() != 200) {
                            throw new IllegalStateException("not answered with 200");
                        }
                    }
                    return null;
                });
            }
            long bytes = allocated();
            long began = System.nanoTime();
            for (Future<Void> each : threads.invokeAll(work)) {
                each.get();
            }
            System.out.println((System.nanoTime() - began) + " " + (allocated() - bytes));
        }
        System.exit(0);
    }

    private static long allocated() {
        long sum = 0;
        for (long bytes : THREADS.getThreadAllocatedBytes(THREADS.getAllThreadIds())) {
            sum += Math.max(bytes, 0);
        }
        return sum;
    }
}
