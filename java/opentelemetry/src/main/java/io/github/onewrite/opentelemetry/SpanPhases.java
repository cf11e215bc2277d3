package io.github.onewrite.opentelemetry;

import io.github.onewrite.Phase;
import io.github.onewrite.Timing;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;

/** The attributes of a span: spec/testdata/opentelemetry.json. A value that the record lacks is left out. */
final class SpanPhases {
    private SpanPhases() {}

    static Attributes of(Timing timing) {
        AttributesBuilder named = Attributes.builder();
        for (Phase phase : Phase.values()) {
            timing.nanos(phase).ifPresent(nanos -> named.put(number(phase.canonicalName() + "_ns"), nanos));
        }
        named.put(number("total_ns"), timing.totalNanos());
        timing.cause().ifPresent(cause -> named.put("onewrite.cause", cause.canonicalName()));
        timing.kernel().ifPresent(kernel -> {
            if (kernel.segmentsOut() >= 0) {
                named.put(number("segments_out"), kernel.segmentsOut());
            }
            named.put(number("send_hold_ns"), kernel.sendHoldNanos()).put(number("unread_ns"), kernel.unreadNanos());
        });
        timing.reused().ifPresent(reused -> named.put("onewrite.reused", reused));
        timing.connId().ifPresent(number -> named.put(number("conn_id"), number));
        timing.connRequests().ifPresent(requests -> named.put(number("conn_requests"), (long) requests));
        timing.proxy().ifPresent(proxy -> named.put("onewrite.proxy", proxy));
        return named.build();
    }

    private static AttributeKey<Long> number(String name) {
        return AttributeKey.longKey("onewrite." + name);
    }
}
