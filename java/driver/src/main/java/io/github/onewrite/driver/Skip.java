package io.github.onewrite.driver;

/** What was asked for is outside what this client kind can do. */
final class Skip extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Skip(String why) {
        super(why);
    }
}
