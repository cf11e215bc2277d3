package io.github.onewrite.internal;

import io.github.onewrite.Kernel;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.Timing;

/** A record as one line: the same in all languages, by spec/testdata/text_form.json. */
public final class Text {
    private Text() {}

    public static String of(Timing timing) {
        StringBuilder line = new StringBuilder(timing.method()).append(' ');
        if (!timing.url().isEmpty()) {
            line.append(timing.url()).append(' ');
        }
        timing.status().ifPresent(code -> line.append(code).append(' '));
        appendOutcome(line, timing);
        line.append("in ").append(millis(timing.totalNanos())).append(" ms");
        timing.proxy().ifPresent(through -> line.append(" via proxy ").append(through));
        String separator = ": ";
        for (Phase phase : Phase.values()) {
            long nanos = timing.nanos(phase).orElse(-1);
            if (nanos >= 0) {
                line.append(separator).append(phase.canonicalName()).append(' ').append(millis(nanos));
                separator = ", ";
                if (phase == Phase.WAIT) {
                    appendCause(line, timing, nanos);
                }
            }
        }
        timing.connId().ifPresent(id -> line.append(timing.reused().orElse(false) ? "; reused conn " : "; new conn ")
                .append(id));
        timing.resend().ifPresent(times -> line.append("; resend ").append(times));
        return line.toString();
    }

    private static void appendOutcome(StringBuilder line, Timing timing) {
        if (timing.outcome() == Outcome.OK) {
            return;
        }
        line.append(timing.outcome().canonicalName()).append(' ');
        String kind = timing.outcome() == Outcome.ERROR
                ? timing.errorKind().map(error -> error.canonicalName()).orElse("")
                : "";
        String phase = timing.errorPhase().map(in -> "in " + in.canonicalName()).orElse("");
        if (!kind.isEmpty() || !phase.isEmpty()) {
            line.append('(')
                    .append(kind)
                    .append(kind.isEmpty() || phase.isEmpty() ? "" : " ")
                    .append(phase)
                    .append(") ");
        }
    }

    /** The cause, and what it was named by. */
    private static void appendCause(StringBuilder line, Timing timing, long waited) {
        if (timing.cause().isEmpty()) {
            return;
        }
        line.append(" (").append(timing.cause().get().canonicalName());
        if (timing.kernel().isPresent()) {
            Kernel kernel = timing.kernel().get();
            long rest = Math.max(0, waited - kernel.sendHoldNanos() - kernel.unreadNanos());
            line.append(": held ").append(millis(kernel.sendHoldNanos()));
            line.append(", unread ").append(millis(kernel.unreadNanos()));
            line.append(", rest ").append(millis(rest));
        }
        line.append(')');
    }

    /** With one decimal, and never with an exponent. */
    private static String millis(long nanos) {
        long tenths = Math.round(nanos / 1e5);
        return tenths / 10 + "." + tenths % 10;
    }
}
