package io.github.onewrite.bench.jmh;

import io.github.onewrite.netty.Body;
import io.github.onewrite.netty.OnewriteClient;
import io.github.onewrite.netty.Request;
import java.net.URI;

/** The adapter, blocking, one event loop on NIO, as raw Netty's. */
final class Onewrite implements Poster {
    private final OnewriteClient client =
            OnewriteClient.builder().nio().eventLoops(1).build();
    private final URI url;
    private final byte[] body;

    Onewrite(URI url, byte[] body) {
        this.url = url;
        this.body = body;
    }

    @Override
    public int post() throws Exception {
        return client.execute(Request.post(url, Body.of(body)).build()).status();
    }

    @Override
    public void close() {
        client.close();
    }
}
