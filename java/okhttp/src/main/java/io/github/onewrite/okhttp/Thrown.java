package io.github.onewrite.okhttp;

import java.io.IOException;
import java.util.Map;
import java.util.WeakHashMap;
import okhttp3.Call;
import okhttp3.Interceptor;
import okhttp3.Response;
import org.jspecify.annotations.Nullable;

/**
 * The outermost interceptor of a client with hooks: shows each listener what its call throws. OkHttp reports callEnd for a call
 * that throws anything but an IOException (RealCall.getResponseWithInterceptorChain), as for one that was answered.
 */
final class Thrown implements Interceptor {
    /** Calls between their start and their first interceptor, as a rule those that the dispatcher queues. */
    private final Map<Call, CallListener> started = new WeakHashMap<>();

    synchronized void expect(Call call, CallListener listener) {
        started.put(call, listener);
    }

    synchronized @Nullable CallListener take(Call call) {
        return started.remove(call);
    }

    @Override
    public Response intercept(Chain chain) throws IOException {
        CallListener listener = take(chain.call());
        try {
            return chain.proceed(chain.request());
        } catch (Throwable e) {
            if (listener != null) {
                listener.thrown(chain.call(), e);
            }
            throw e;
        }
    }
}
