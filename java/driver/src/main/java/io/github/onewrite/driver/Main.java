package io.github.onewrite.driver;

import java.util.List;

/** Entry point: the driver protocol over stdin and stdout. With {@code --warm-up}, a request by each client before it. */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        // stdout belongs to the protocol: whatever else prints goes to the log.
        java.io.PrintStream protocol = System.out;
        System.setOut(System.err);
        if (List.of(args).contains("--warm-up")) {
            for (String kind : Kinds.NAMES) {
                Kinds.of(kind).apis().forEach(api -> WarmUp.run(Kinds.of(kind), api));
            }
        }
        new Protocol(protocol).run(System.in);
        // Event loops and clients of a dying process need no quiet period.
        System.exit(0);
    }
}
