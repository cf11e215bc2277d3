package io.github.onewrite.driver;

import java.util.ArrayList;
import java.util.List;

/** The names of the body capabilities. */
final class Bodies {
    /** Bodies that each client of this driver can send. */
    private static final List<String> PLAIN =
            List.of("body:none", "body:bytes", "body:text", "body:memory_file", "body:file", "body:stream");

    /** Bodies that only clients with helpers for forms can send. */
    private static final List<String> FORMS = List.of("body:form", "body:multipart");

    private Bodies() {}

    /** These capabilities, and all plain bodies. */
    static List<String> plainWith(String... capabilities) {
        List<String> all = new ArrayList<>(List.of(capabilities));
        all.addAll(PLAIN);
        return List.copyOf(all);
    }

    /** These capabilities, and all bodies, forms included. */
    static List<String> allWith(String... capabilities) {
        List<String> all = new ArrayList<>(plainWith(capabilities));
        all.addAll(FORMS);
        return List.copyOf(all);
    }
}
