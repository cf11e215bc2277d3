package io.github.onewrite.bench.jmh;

import io.github.onewrite.client.Body;
import io.github.onewrite.client.OnewriteClient;
import io.github.onewrite.client.Request;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.net.URI;

/** The adapter's blocking API, on the event loop that {@link RawNetty} uses, too. */
final class Onewrite implements Poster {
    private final OnewriteClient client;
    private final URI url;
    private final byte[] body;

    Onewrite(URI url, byte[] body, EventLoopGroup group) {
        client = OnewriteClient.builder()
                .eventLoopGroup(group, NioSocketChannel::new)
                .build();
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
