package io.github.onewrite.driver;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import java.io.IOException;
import java.util.Iterator;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.asynchttpclient.request.body.Body;
import org.asynchttpclient.request.body.generator.BodyChunk;
import org.asynchttpclient.request.body.generator.QueueBasedFeedableBodyGenerator;

/**
 * Feeds chunks to AsyncHttpClient: all at once, or each a pause after the previous one was taken. The pause is a task of
 * the connection's event loop, so that a loop that runs late does not find two chunks to be sent together.
 */
final class FedBody extends QueueBasedFeedableBodyGenerator<ConcurrentLinkedQueue<BodyChunk>> {
    private final Iterator<byte[]> chunks;
    private final long declaredSize;
    private final long gapMs;
    private final Supplier<Channel> channel;

    /** @param channel the connection; called once the request is being written */
    FedBody(Payload.Stream stream, Supplier<Channel> channel) {
        super(new ConcurrentLinkedQueue<>());
        this.chunks = stream.chunks().iterator();
        this.declaredSize = stream.declaredSize();
        this.gapMs = stream.gapMs();
        this.channel = channel;
        do {
            feedNext();
        } while (gapMs == 0 && chunks.hasNext());
    }

    private void feedNext() {
        byte[] chunk = chunks.hasNext() ? chunks.next() : new byte[0];
        try {
            feed(Unpooled.wrappedBuffer(chunk), !chunks.hasNext());
        } catch (Exception e) {
            System.err.println("not fed: " + e);
        }
    }

    @Override
    protected boolean offer(BodyChunk chunk) {
        return queue.offer(chunk);
    }

    @Override
    public Body createBody() {
        Body body = super.createBody();
        return new Body() {
            @Override
            public long getContentLength() {
                return declaredSize;
            }

            @Override
            public BodyState transferTo(ByteBuf target) throws IOException {
                boolean fed = !queue.isEmpty();
                BodyState state = body.transferTo(target);
                if (fed && queue.isEmpty() && chunks.hasNext()) {
                    channel.get().eventLoop().schedule(FedBody.this::feedNext, gapMs, TimeUnit.MILLISECONDS);
                }
                return state;
            }

            @Override
            public void close() throws IOException {
                body.close();
            }
        };
    }
}
