package io.github.onewrite.ahc;

import io.github.onewrite.netty.OnewriteNetty;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.util.List;
import org.asynchttpclient.AsyncHandler;
import org.asynchttpclient.Request;
import org.asynchttpclient.filter.FilterContext;
import org.asynchttpclient.filter.RequestFilter;
import org.asynchttpclient.handler.TransferCompletionHandler;
import org.asynchttpclient.handler.resumable.ResumableAsyncHandler;
import org.asynchttpclient.request.body.generator.InputStreamBodyGenerator;
import org.asynchttpclient.request.body.multipart.InputStreamPart;
import org.asynchttpclient.request.body.multipart.Part;
import org.asynchttpclient.ws.WebSocketUpgradeHandler;

/** Starts timing each call, and finds what may be joined: AsyncHttpClient runs its request filters once, first of all. */
final class TimingFilter implements RequestFilter {
    private final OnewriteNetty onewrite;
    private final ChannelSetup channels;

    TimingFilter(OnewriteNetty onewrite, ChannelSetup channels) {
        this.onewrite = onewrite;
        this.channels = channels;
    }

    @Override
    public <T> FilterContext<T> filter(FilterContext<T> context) {
        AsyncHandler<T> handler = context.getAsyncHandler();
        Request request = context.getRequest();
        boolean joins = doesNotBlock(request);
        if (!(onewrite.wanted() || joins) || isLookedFor(handler)) {
            return context;
        }
        OnewriteNetty.Call call = onewrite.begin(request.getMethod(), request.getUrl());
        return new FilterContext.FilterContextBuilder<>(context)
                .asyncHandler(new TimedHandler<>(handler, call, channels, joins))
                .build();
    }

    /**
     * Whether the body comes in several writes that may be joined. AsyncHttpClient reads an InputStream on its event loop:
     * while it blocks, what was held would wait.
     */
    private static boolean doesNotBlock(Request request) {
        InputStream stream = request.getBodyGenerator() instanceof InputStreamBodyGenerator generator
                ? generator.getInputStream()
                : request.getStreamData();
        if (stream != null) {
            return stream.getClass() == ByteArrayInputStream.class;
        }
        List<Part> parts = request.getBodyParts();
        return request.getBodyGenerator() != null
                || request.getFile() != null
                || (!parts.isEmpty() && parts.stream().noneMatch(InputStreamPart.class::isInstance));
    }

    /** AsyncHttpClient tests handlers for these classes, so they must not be wrapped. */
    private static boolean isLookedFor(AsyncHandler<?> handler) {
        return handler instanceof WebSocketUpgradeHandler
                || handler instanceof ResumableAsyncHandler
                || handler instanceof TransferCompletionHandler;
    }
}
