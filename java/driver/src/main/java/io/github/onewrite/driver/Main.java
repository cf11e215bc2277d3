package io.github.onewrite.driver;

import java.util.List;

/** Entry point: the driver protocol over stdin and stdout. With {@code --warm-up}, a request by each client before it. */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        // stdout is for the protocol: anything else that prints there goes to stderr.
        java.io.PrintStream protocol = System.out;
        System.setOut(System.err);
        if (List.of(args).contains("--warm-up")) {
            for (Kinds kind : Kinds.values()) {
                kind.apis().forEach(api -> WarmUp.run(kind, api));
            }
        }
        new Protocol(protocol).run(System.in);
        // Without the quiet periods of event loops and clients.
        System.exit(0);
    }
}
