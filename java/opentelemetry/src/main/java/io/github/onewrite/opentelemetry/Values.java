package io.github.onewrite.opentelemetry;

import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;
import io.opentelemetry.api.common.Value;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Maps of strings, numbers and flags in OpenTelemetry's types. */
final class Values {
    private Values() {}

    static Attributes attributes(Map<String, Object> from) {
        AttributesBuilder all = Attributes.builder();
        from.forEach((name, value) -> {
            if (value instanceof Number number) {
                all.put(AttributeKey.longKey(name), number.longValue());
            } else if (value instanceof Boolean flag) {
                all.put(AttributeKey.booleanKey(name), flag);
            } else {
                all.put(AttributeKey.stringKey(name), value.toString());
            }
        });
        return all.build();
    }

    static Value<?> value(Object from) {
        if (from instanceof Map<?, ?> map) {
            Map<String, Value<?>> all = new LinkedHashMap<>();
            map.forEach((name, value) -> all.put((String) name, value(value)));
            return Value.of(all);
        }
        if (from instanceof List<?> list) {
            return Value.of(list.stream().<Value<?>>map(Values::value).toList());
        }
        if (from instanceof Number number) {
            return Value.of(number.longValue());
        }
        return from instanceof Boolean flag ? Value.of(flag) : Value.of(from.toString());
    }
}
