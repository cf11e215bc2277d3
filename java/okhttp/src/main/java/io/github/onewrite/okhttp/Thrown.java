package io.github.onewrite.okhttp;

import java.io.IOException;
import java.util.Map;
import java.util.WeakHashMap;
import okhttp3.Call;
import okhttp3.Interceptor;
import okhttp3.Response;
import org.jspecify.annotations.Nullable;

/**
 * The outermost interceptor of a client with hooks: shows each listener what its call returns or throws. OkHttp reports neither
 * the status of a response that a cache or an interceptor made, nor an exception that is no IOException: then it reports
 * callEnd (RealCall.getResponseWithInterceptorChain).
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
            Response response = chain.proceed(chain.request());
            if (listener != null) {
                listener.answered(response.code());
            }
            return response;
        } catch (Throwable e) {
            if (listener != null) {
                listener.thrown(chain.call(), e);
            }
            throw e;
        }
    }
}
