package io.github.onewrite.bench.jmh;

import com.sun.management.ThreadMXBean;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingListener;
import io.github.onewrite.client.Body;
import io.github.onewrite.client.OnewriteClient;
import io.github.onewrite.client.OnewriteClientBuilder;
import io.github.onewrite.client.Request;
import io.netty.channel.ChannelFactory;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Measures what timing hooks cost a call: processor time and allocated bytes of the two threads that carry it, the
 * caller's and the event loop's. JMH has no counter of a thread's processor time, and two processes differ by more than
 * a hook costs. So clients with and without hooks take turns on one event loop, a block of calls at a time, and blocks
 * of the same round are compared. A second client without hooks is the control: its difference from the first is the
 * error of the method.
 *
 * <p>Usage: {@code HookCost URL SECONDS}, where the URL is served by another process. Prints a line of JSON for each
 * kind of hook.
 */
public final class HookCost {
    private static final int WARM_UP_SECONDS = 4;

    /** Rounds at the least: on a busy machine the JIT compilers need more than the warm-up's seconds. */
    private static final int LEAST_ROUNDS = 60;

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    /** Written by the hook, so that the compiler cannot leave the record out. */
    static volatile Timing last;

    private HookCost() {}

    /**
     * One event loop that all contenders share, because the core on which the kernel runs a thread can matter more than
     * a hook.
     */
    private record Loops(EventLoopGroup group, ChannelFactory<? extends SocketChannel> channels) {}

    /** A client with a kind of hook, and the two threads of its calls. */
    private abstract static class Contender {
        final String hooks;
        final int calls;
        final OnewriteClient client;
        final Request.Builder request;
        final EventLoop loop;
        final long loopThread;
        final List<Double> micros = new ArrayList<>();
        final List<Double> bytes = new ArrayList<>();

        /** @param calls in a block */
        Contender(String hooks, Loops loops, URI url, int calls) throws Exception {
            this.hooks = hooks;
            this.calls = calls;
            loop = loops.group().next();
            loopThread = loop.submit(() -> Thread.currentThread().getId()).get();
            OnewriteClientBuilder builder =
                    OnewriteClient.builder().eventLoopGroup(loops.group(), loops.channels());
            switch (hooks) {
                case "none", "none, again" -> {}
                case "onTiming" -> builder.onTiming(timing -> last = timing);
                case "listener" -> builder.listener(new TimingListener() {});
                default -> throw new IllegalArgumentException("no hooks " + hooks);
            }
            client = builder.build();
            request = Request.post(url, Body.of(new byte[200]));
        }

        /** Makes the calls of a block, one after the other. */
        abstract void run() throws Exception;

        void block(boolean kept) throws Exception {
            long caller = Thread.currentThread().getId();
            long cpu = THREADS.getThreadCpuTime(caller) + THREADS.getThreadCpuTime(loopThread);
            long allocated = THREADS.getThreadAllocatedBytes(caller) + THREADS.getThreadAllocatedBytes(loopThread);
            run();
            cpu = THREADS.getThreadCpuTime(caller) + THREADS.getThreadCpuTime(loopThread) - cpu;
            allocated =
                    THREADS.getThreadAllocatedBytes(caller) + THREADS.getThreadAllocatedBytes(loopThread) - allocated;
            if (kept) {
                micros.add(cpu / 1e3 / calls);
                bytes.add((double) allocated / calls);
            }
        }
    }

    /** Over a socket. The caller waits for each response, so that two threads wake each other for every call. */
    private static final class OverSockets extends Contender {
        OverSockets(String hooks, Loops loops, URI url) throws Exception {
            super(hooks, loops, url, 100);
        }

        @Override
        void run() throws Exception {
            for (int i = 0; i < calls; i++) {
                int status = client.execute(request.build()).status();
                if (status != 200) {
                    throw new IllegalStateException("status " + status);
                }
            }
        }
    }

    /** Over a {@link NullChannel}, all on the event loop: nothing but the client's own work. */
    private static final class WithoutKernel extends Contender {
        WithoutKernel(String hooks, Loops loops, URI url) throws Exception {
            super(hooks, loops, url, 500);
        }

        @Override
        void run() throws Exception {
            CompletableFuture<Void> over = new CompletableFuture<>();
            loop.execute(() -> next(calls, over));
            over.get(10, TimeUnit.SECONDS);
        }

        private void next(int left, CompletableFuture<Void> over) {
            client.send(request.build()).whenComplete((response, failure) -> {
                if (failure != null) {
                    over.completeExceptionally(failure);
                } else if (left > 1) {
                    next(left - 1, over);
                } else {
                    over.complete(null);
                }
            });
        }
    }

    private interface Maker {
        Contender make(String hooks, Loops loops, URI url) throws Exception;
    }

    private static void compare(String over, Maker maker, Loops loops, URI url, double seconds) throws Exception {
        List<Contender> contenders = new ArrayList<>();
        for (String hooks : List.of("none", "none, again", "onTiming", "listener")) {
            contenders.add(maker.make(hooks, loops, url));
        }
        rounds(contenders, WARM_UP_SECONDS, LEAST_ROUNDS, false);
        int rounds = rounds(contenders, seconds, LEAST_ROUNDS, true);
        Contender none = contenders.get(0);
        for (Contender each : contenders) {
            double[] interval = differences(each.micros, none.micros);
            System.out.printf(
                    Locale.ROOT,
                    "{\"over\": \"%s\", \"hooks\": \"%s\", \"rounds\": %d, \"micros\": %.3f, \"bytes\": %.1f, "
                            + "\"more_micros\": %.3f, \"low\": %.3f, \"high\": %.3f, \"more_bytes\": %.1f}%n",
                    over,
                    each.hooks,
                    rounds,
                    median(each.micros),
                    median(each.bytes),
                    interval[1],
                    interval[0],
                    interval[2],
                    median(each.bytes) - median(none.bytes));
            each.client.close();
        }
        loops.group().shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    /**
     * Runs rounds for these seconds, and {@code least} rounds at the least. A round is a block of each contender, in
     * random order.
     */
    private static int rounds(List<Contender> contenders, double seconds, int least, boolean kept) throws Exception {
        List<Contender> order = new ArrayList<>(contenders);
        Random random = new Random(1);
        long until = System.nanoTime() + (long) (seconds * 1e9);
        int rounds = 0;
        while (System.nanoTime() < until || rounds < least) {
            Collections.shuffle(order, random);
            for (Contender each : order) {
                each.block(kept);
            }
            rounds++;
        }
        return rounds;
    }

    /** The median of the differences within a round, and its 95 % interval by order statistics. */
    private static double[] differences(List<Double> of, List<Double> from) {
        double[] sorted = new double[of.size()];
        for (int i = 0; i < sorted.length; i++) {
            sorted[i] = of.get(i) - from.get(i);
        }
        Arrays.sort(sorted);
        int half = (int) Math.ceil(0.98 * Math.sqrt(sorted.length));
        int middle = sorted.length / 2;
        return new double[] {
            sorted[Math.max(0, middle - half)], sorted[middle], sorted[Math.min(sorted.length - 1, middle + half)]
        };
    }

    private static double median(List<Double> values) {
        double[] sorted = values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        return sorted[sorted.length / 2];
    }

    public static void main(String[] arguments) throws Exception {
        URI url = URI.create(arguments[0]);
        double seconds = Double.parseDouble(arguments[1]);
        compare(
                "no kernel",
                WithoutKernel::new,
                new Loops(group(NioIoHandler.newFactory()), NullChannel::new),
                url,
                seconds / 2);
        compare(
                "NIO",
                OverSockets::new,
                new Loops(group(NioIoHandler.newFactory()), NioSocketChannel::new),
                url,
                seconds);
        if (Epoll.isAvailable()) {
            compare(
                    "epoll",
                    OverSockets::new,
                    new Loops(group(EpollIoHandler.newFactory()), EpollSocketChannel::new),
                    url,
                    seconds);
        }
    }

    private static EventLoopGroup group(IoHandlerFactory handlers) {
        return new MultiThreadIoEventLoopGroup(1, handlers);
    }
}
