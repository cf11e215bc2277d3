package io.github.onewrite;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The kernel's view of the connection when the response began: {@code struct tcp_info} of linux/tcp.h, read once. Its
 * clock for the last two fields has a grain of a tick (4 ms at 250 Hz).
 *
 * @param segmentsOut data segments sent for this request; -1 where requests before it were answered too soon for a reading
 * @param rttMicros smoothed round-trip time, in microseconds
 * @param minRttMicros smallest round-trip time seen, in microseconds
 * @param retransmits segments sent again since the request began
 * @param sendHoldNanos how long the kernel held bytes of the request after the last write had returned, in nanoseconds
 * @param unreadNanos how long the response lay in the client's receive buffer before the program read it, in nanoseconds
 */
public record Kernel(
        long segmentsOut, long rttMicros, long minRttMicros, long retransmits, long sendHoldNanos, long unreadNanos) {

    /** The evidence under the names common to all languages. */
    public Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        if (segmentsOut >= 0) {
            map.put("segments_out", segmentsOut);
        }
        map.put("rtt_us", rttMicros);
        map.put("min_rtt_us", minRttMicros);
        map.put("retransmits", retransmits);
        map.put("send_hold_ns", sendHoldNanos);
        map.put("unread_ns", unreadNanos);
        return map;
    }
}
