package io.github.onewrite.okhttp;

import java.io.IOException;
import okhttp3.Call;
import okhttp3.Interceptor;
import okhttp3.Response;
import org.jspecify.annotations.Nullable;

/**
 * The outermost interceptor. OkHttp reports the end of a call whose interceptor threw an unchecked exception as callEnd, on
 * the same thread; it reports a response in the same way (RealCall.getResponseWithInterceptorChain). Stateless, so that one
 * serves all clients; it also shows that a builder has been customized.
 */
final class UncheckedErrors implements Interceptor {
    private record Thrown(Call call, Throwable error) {}

    private static final ThreadLocal<@Nullable Thrown> LAST = new ThreadLocal<>();

    @Override
    public Response intercept(Chain chain) throws IOException {
        try {
            return chain.proceed(chain.request());
        } catch (RuntimeException | Error e) {
            LAST.set(new Thrown(chain.call(), e));
            throw e;
        }
    }

    /** The exception of a call that ends on this thread, or null. */
    static @Nullable Throwable of(Call call) {
        Thrown last = LAST.get();
        if (last == null) {
            return null;
        }
        LAST.remove();
        return last.call == call ? last.error : null;
    }
}
