package io.github.onewrite.okhttp;

import java.io.IOException;
import java.util.Set;
import okhttp3.Connection;
import okhttp3.FormBody;
import okhttp3.Interceptor;
import okhttp3.MultipartBody;
import okhttp3.Protocol;
import okhttp3.RequestBody;
import okhttp3.Response;
import okio.ByteString;

/**
 * The last network interceptor: arms the socket for a request over HTTP/1.1. OkHttp does not call it for WebSockets and
 * tunnels. Stateless, so that one serves all clients.
 */
final class Joiner implements Interceptor {
    /** OkHttp's own bodies whose bytes are there: writing them runs no code of the caller. */
    private static final Set<Class<?>> IN_MEMORY = Set.of(
            RequestBody.create(new byte[0], null).getClass(),
            RequestBody.create(ByteString.EMPTY, null).getClass(),
            RequestBody.create(new java.io.File("none"), null).getClass(),
            FormBody.class);

    @Override
    public Response intercept(Chain chain) throws IOException {
        Connection connection = chain.connection();
        if (connection == null || !(connection.socket() instanceof Joining socket) || !isHttp1(connection)) {
            return chain.proceed(chain.request());
        }
        RequestBody body = chain.request().body();
        JoiningOutput output = socket.output();
        output.join(body == null || isInMemory(body));
        try {
            return chain.proceed(chain.request());
        } catch (Throwable e) {
            output.fail();
            throw e;
        }
    }

    private static boolean isHttp1(Connection connection) {
        return connection.protocol() == Protocol.HTTP_1_1 || connection.protocol() == Protocol.HTTP_1_0;
    }

    private static boolean isInMemory(RequestBody body) {
        return body instanceof MultipartBody parts
                ? parts.parts().stream().allMatch(part -> isInMemory(part.body()))
                : IN_MEMORY.contains(body.getClass());
    }
}
