package io.github.onewrite.client;

import java.util.stream.Stream;

/**
 * Connections of a client, or of one origin, at one moment.
 *
 * @param active connections that carry a call
 * @param idle connections that wait for one
 * @param connecting connections under way
 * @param pending calls that wait for a connection
 * @param opened connections made since the client was built, or since its pool was made for an origin
 */
public record PoolStats(int active, int idle, int connecting, int pending, long opened) {
    static PoolStats sum(Stream<PoolStats> parts, long opened) {
        PoolStats sum = parts.reduce(new PoolStats(0, 0, 0, 0, 0), PoolStats::plus);
        return new PoolStats(sum.active, sum.idle, sum.connecting, sum.pending, opened);
    }

    private PoolStats plus(PoolStats other) {
        return new PoolStats(
                active + other.active,
                idle + other.idle,
                connecting + other.connecting,
                pending + other.pending,
                opened + other.opened);
    }
}
