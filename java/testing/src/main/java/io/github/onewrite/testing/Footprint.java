package io.github.onewrite.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.ObjectName;

/** Pictures of what is touched (FOOT-*), taken before and after and compared. */
public final class Footprint {
    private Footprint() {}

    /** The names and values of all getters that a type has. */
    public static <T> Map<String, Object> picture(Class<T> type, T of) throws ReflectiveOperationException {
        Map<String, Object> picture = new TreeMap<>();
        for (Method each : type.getMethods()) {
            boolean getter = each.getParameterCount() == 0 && each.getReturnType() != void.class;
            boolean own = each.getDeclaringClass() == type && !Modifier.isStatic(each.getModifiers());
            if (getter && own && !each.getReturnType().getSimpleName().equals("Builder")) {
                picture.put(each.getName(), String.valueOf(each.invoke(of)));
            }
        }
        return picture;
    }

    /** The names whose values differ. */
    public static Set<String> differences(Map<String, Object> before, Map<String, Object> after) {
        Set<String> names = new TreeSet<>(before.keySet());
        names.addAll(after.keySet());
        names.removeIf(name -> String.valueOf(before.get(name)).equals(String.valueOf(after.get(name))));
        return names;
    }

    /** Waits up to 10 s until the garbage collector has taken all of these. */
    public static void assertUnreachable(Collection<WeakReference<?>> parts) throws InterruptedException {
        assertEquals(List.of(), reachable(parts), "still reachable");
    }

    /** The classes of those that the garbage collector does not take within 10 s, in order. */
    public static List<String> reachable(Collection<WeakReference<?>> parts) throws InterruptedException {
        List<String> reachable = List.of();
        for (int i = 0; i < 100; i++) {
            System.gc();
            reachable = parts.stream()
                    .map(WeakReference::get)
                    .filter(Objects::nonNull)
                    .map(part -> part.getClass().getName())
                    .toList();
            if (reachable.isEmpty()) {
                break;
            }
            Thread.sleep(100);
        }
        return reachable;
    }

    /**
     * What each of the objects that a step makes holds, in bytes by class. Counts what is live, and leaves out a class that
     * has fewer new instances than there are objects: those are of other threads.
     *
     * @param objects how many the step makes
     */
    public static Map<String, Long> bytesHeldByEach(int objects, Runnable step) throws Exception {
        Map<String, long[]> before = liveByClass();
        step.run();
        Map<String, Long> held = new TreeMap<>();
        liveByClass().forEach((name, now) -> {
            long[] then = before.getOrDefault(name, new long[2]);
            if (now[0] - then[0] >= objects) {
                held.put(name, (now[1] - then[1]) / objects);
            }
        });
        return held;
    }

    /** Instances and bytes of each class, by the collector's own walk through the heap. */
    private static Map<String, long[]> liveByClass() throws Exception {
        String histogram = (String) ManagementFactory.getPlatformMBeanServer()
                .invoke(
                        new ObjectName("com.sun.management:type=DiagnosticCommand"),
                        "gcClassHistogram",
                        new Object[] {new String[0]},
                        new String[] {String[].class.getName()});
        Map<String, long[]> live = new TreeMap<>();
        Matcher line = Pattern.compile("(?m)^ *\\d+: +(\\d+) +(\\d+) +(\\S+)").matcher(histogram);
        while (line.find()) {
            live.put(line.group(3), new long[] {Long.parseLong(line.group(1)), Long.parseLong(line.group(2))});
        }
        return live;
    }

    /** The least that one of these calls allocates on this thread: the rest is the JVM's, at its time. */
    public static long allocatedBytes(int calls, Callable<?> call) throws Exception {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long least = Long.MAX_VALUE;
        for (int i = 0; i < calls; i++) {
            long before = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
            call.call();
            least = Math.min(
                    least,
                    threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - before);
        }
        return least;
    }
}
