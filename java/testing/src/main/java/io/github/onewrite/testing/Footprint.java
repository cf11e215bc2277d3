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
    private static List<String> reachable(Collection<WeakReference<?>> parts) throws InterruptedException {
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
