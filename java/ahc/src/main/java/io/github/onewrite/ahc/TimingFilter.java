package io.github.onewrite.ahc;

import io.github.onewrite.internal.Hooks;
import io.github.onewrite.internal.TimedCall;
import org.asynchttpclient.AsyncHandler;
import org.asynchttpclient.Request;
import org.asynchttpclient.filter.FilterContext;
import org.asynchttpclient.filter.RequestFilter;
import org.asynchttpclient.handler.TransferCompletionHandler;
import org.asynchttpclient.handler.resumable.ResumableAsyncHandler;
import org.asynchttpclient.ws.WebSocketUpgradeHandler;

/** Starts timing each call: AsyncHttpClient runs its request filters once, before anything else. */
final class TimingFilter implements RequestFilter {
    private final Hooks hooks;
    private final ChannelSetup channels;

    TimingFilter(Hooks hooks, ChannelSetup channels) {
        this.hooks = hooks;
        this.channels = channels;
    }

    @Override
    public <T> FilterContext<T> filter(FilterContext<T> context) {
        AsyncHandler<T> handler = context.getAsyncHandler();
        if (!hooks.wanted() || isLookedFor(handler)) {
            return context;
        }
        Request request = context.getRequest();
        TimedCall call = TimedCall.start(hooks, request.getMethod(), request.getUrl(), null);
        return call == null
                ? context
                : new FilterContext.FilterContextBuilder<>(context)
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
