package io.github.onewrite.client;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;

/** Resolves host names. May block: it is never called on an event loop. */
@FunctionalInterface
public interface NameResolver {

    /** The system's resolver, as {@link InetAddress#getAllByName} has it. */
    NameResolver SYSTEM = host -> List.of(InetAddress.getAllByName(host));

    /**
     * Resolves a name.
     *
     * @return the addresses in the order in which they are to be tried, at least one
     * @throws UnknownHostException when there is none
     */
    List<InetAddress> resolve(String host) throws UnknownHostException;
}
