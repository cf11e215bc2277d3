package io.github.onewrite.driver;

/** Thrown where this client kind cannot do what a message requests; answered as {@code skipped}. */
final class Skip extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Skip(String why) {
        super(why);
    }
}
