package io.github.onewrite.spi;

import io.github.onewrite.ServerTiming;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Parses {@code Server-Timing} fields (W3C Server Timing). They come from the network: the amount that is parsed is
 * bounded, and invalid parts are ignored.
 */
public final class ServerTimings {
    /** The name of the fields. */
    public static final String HEADER = "Server-Timing";

    private static final int MAX_CHARACTERS = 4096;
    private static final int MAX_ENTRIES = 32;
    private static final int MAX_NAME = 64;
    private static final int MAX_DESCRIPTION = 128;
    private static final long MAX_NANOS = 86_400_000L * 1_000_000;
    private static final Pattern MILLISECONDS = Pattern.compile("([0-9]{1,8})?(?:\\.([0-9]+))?");

    private ServerTimings() {}

    /** The entries of all fields, in order. */
    public static List<ServerTiming> parse(Iterable<String> fields) {
        List<ServerTiming> found = new ArrayList<>();
        int left = MAX_CHARACTERS;
        for (String field : fields) {
            boolean cut = field.length() > left;
            List<String> entries = split(cut ? field.substring(0, left) : field, ',');
            for (String entry : cut ? entries.subList(0, entries.size() - 1) : entries) {
                ServerTiming timing = found.size() < MAX_ENTRIES ? entry(entry) : null;
                if (timing != null) {
                    found.add(timing);
                }
            }
            if (cut) {
                break;
            }
            left -= field.length();
        }
        return List.copyOf(found);
    }

    /**
     * The part of a wait that the server claims: the first entry named {@code total}, else the longest.
     *
     * @param waitNanos -1 when there was none
     * @return -1 when nothing is claimed, or more than the wait
     */
    public static long serverNanos(List<ServerTiming> timings, long waitNanos) {
        long longest = 0;
        for (ServerTiming timing : timings) {
            if (timing.durationNanos().isPresent()) {
                long nanos = timing.durationNanos().getAsLong();
                if (timing.name().equals("total")) {
                    longest = nanos;
                    break;
                }
                longest = Math.max(longest, nanos);
            }
        }
        return longest > 0 && longest <= waitNanos ? longest : -1;
    }

    private static @Nullable ServerTiming entry(String text) {
        List<String> parts = split(text, ';');
        String name = trim(parts.get(0));
        if (name.isEmpty() || name.length() > MAX_NAME || Tokens.invalidAt(name) >= 0) {
            return null;
        }
        String duration = null;
        String description = null;
        for (String part : parts.subList(1, parts.size())) {
            int equals = part.indexOf('=');
            String key = trim(equals < 0 ? part : part.substring(0, equals));
            String value = equals < 0 ? "" : trim(part.substring(equals + 1));
            if (duration == null && key.equalsIgnoreCase("dur")) {
                duration = unquoted(value);
            } else if (description == null && key.equalsIgnoreCase("desc")) {
                description = unquoted(value);
            }
        }
        return new ServerTiming(
                name,
                duration == null ? OptionalLong.empty() : nanos(duration),
                description == null || description.isEmpty() ? Optional.empty() : Optional.of(shortened(description)));
    }

    /** Splits outside of quoted strings. An unclosed string extends to the end. */
    private static List<String> split(String text, char separator) {
        List<String> parts = new ArrayList<>();
        boolean quoted = false;
        int from = 0;
        for (int i = 0; i < text.length(); i++) {
            char each = text.charAt(i);
            if (quoted && each == '\\') {
                i++;
            } else if (each == '"') {
                quoted = !quoted;
            } else if (each == separator && !quoted) {
                parts.add(text.substring(from, i));
                from = i + 1;
            }
        }
        parts.add(text.substring(from));
        return parts;
    }

    private static String unquoted(String value) {
        if (!value.startsWith("\"")) {
            return value;
        }
        StringBuilder content = new StringBuilder();
        for (int i = 1; i < value.length() && value.charAt(i) != '"'; i++) {
            if (value.charAt(i) == '\\' && i + 1 < value.length()) {
                i++;
            }
            content.append(value.charAt(i));
        }
        return content.toString();
    }

    private static OptionalLong nanos(String milliseconds) {
        Matcher number = MILLISECONDS.matcher(milliseconds);
        if (milliseconds.isEmpty() || !number.matches()) {
            return OptionalLong.empty();
        }
        String whole = number.group(1) == null ? "0" : number.group(1);
        String fraction = (number.group(2) == null ? "" : number.group(2)) + "000000";
        long nanos = Long.parseLong(whole) * 1_000_000 + Long.parseLong(fraction.substring(0, 6));
        return nanos > MAX_NANOS ? OptionalLong.empty() : OptionalLong.of(nanos);
    }

    private static String shortened(String description) {
        return description.codePointCount(0, description.length()) <= MAX_DESCRIPTION
                ? description
                : description.substring(0, description.offsetByCodePoints(0, MAX_DESCRIPTION));
    }

    /** Strips spaces and tabs alone; {@link String#trim} also strips control characters. */
    private static String trim(String text) {
        int from = 0;
        int end = text.length();
        while (from < end && isBlank(text.charAt(from))) {
            from++;
        }
        while (end > from && isBlank(text.charAt(end - 1))) {
            end--;
        }
        return text.substring(from, end);
    }

    private static boolean isBlank(char each) {
        return each == ' ' || each == '\t';
    }
}
