import io.github.onewrite.okhttp.OnewriteOkHttp;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;

/** OkHttp as people use it. usage: java -cp 'libs/*:...' OkHttpProgram.java URL COUNT SIZE [--onewrite] */
final class OkHttpProgram {
    public static void main(String[] args) throws Exception {
        OkHttpClient.Builder builder = new OkHttpClient.Builder();
        if (args.length > 3) {
            OnewriteOkHttp.create().apply(builder);
        }
        OkHttpClient client = builder.build();
        RequestBody body = RequestBody.create(new byte[Integer.parseInt(args[2])]);
        for (int turn = 0; turn < Integer.parseInt(args[1]); turn++) {
            Request request = new Request.Builder().url(args[0]).post(body).build();
            try (Response response = client.newCall(request).execute()) {
                response.body().bytes();
            }
        }
        System.exit(0);
    }
}
