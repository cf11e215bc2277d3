package io.github.onewrite.ahc;

import io.github.onewrite.netty.OnewriteNetty;
import org.asynchttpclient.AsyncHandler;
import org.asynchttpclient.Request;
import org.asynchttpclient.filter.FilterContext;
import org.asynchttpclient.filter.RequestFilter;
import org.asynchttpclient.handler.TransferCompletionHandler;
import org.asynchttpclient.handler.resumable.ResumableAsyncHandler;
import org.asynchttpclient.ws.WebSocketUpgradeHandler;

/** Starts timing each call: AsyncHttpClient runs its request filters once, before anything else. */
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
        if (!onewrite.wanted() || isLookedFor(handler)) {
            return context;
        }
        Request request = context.getRequest();
        OnewriteNetty.Call call = onewrite.begin(request.getMethod(), request.getUrl());
        return new FilterContext.FilterContextBuilder<>(context)
                .asyncHandler(new TimedHandler<>(handler, call, channels))
                .build();
    }

    /** AsyncHttpClient tests handlers for these classes, so they must not be wrapped. */
    private static boolean isLookedFor(AsyncHandler<?> handler) {
        return handler instanceof WebSocketUpgradeHandler
                || handler instanceof ResumableAsyncHandler
                || handler instanceof TransferCompletionHandler;
    }
}
