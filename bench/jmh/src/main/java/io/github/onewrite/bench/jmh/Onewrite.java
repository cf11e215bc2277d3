package io.github.onewrite.bench.jmh;

import io.github.onewrite.TimingListener;
import io.github.onewrite.netty.Body;
import io.github.onewrite.netty.OnewriteClient;
import io.github.onewrite.netty.OnewriteClientBuilder;
import io.github.onewrite.netty.Request;
import java.net.URI;

/** The adapter, blocking, one event loop; with and without its timing hooks. */
final class Onewrite implements Poster {
    enum Hook {
        NONE,
        ON_TIMING,
        LISTENER
    }

    /** Written by the hook, so that the record cannot be optimised away. */
    static volatile Object last;

    private final OnewriteClient client;
    private final URI url;
    private final byte[] body;

    Onewrite(URI url, byte[] body, Hook hook) {
        OnewriteClientBuilder builder = OnewriteClient.builder().eventLoops(1);
        switch (hook) {
            case NONE -> {}
            case ON_TIMING -> builder.onTiming(timing -> last = timing);
            case LISTENER -> builder.listener(new TimingListener() {});
        }
        client = builder.build();
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
