package io.github.onewrite.driver;

/** Entry point: the driver protocol over stdin and stdout. */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        // stdout belongs to the protocol: whatever else prints goes to the log.
        java.io.PrintStream protocol = System.out;
        System.setOut(System.err);
        new Protocol(protocol).run(System.in);
        // Event loops and clients of a dying process need no quiet period.
        System.exit(0);
    }
}
