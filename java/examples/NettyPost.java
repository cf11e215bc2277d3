import io.github.onewrite.netty.OnewriteNetty;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import java.net.URI;
import java.nio.charset.StandardCharsets;

/** POSTs over a pipeline of Netty, in one write although the head is flushed first, and prints where the time went. */
public final class NettyPost {
    private NettyPost() {}

    public static void main(String[] args) throws Exception {
        URI url = URI.create(System.getenv().getOrDefault("ONEWRITE_EXAMPLE_URL", "http://127.0.0.1:8080/"));
        OnewriteNetty onewrite = OnewriteNetty.create().onTiming(System.out::println);
        EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        Bootstrap bootstrap = new Bootstrap()
                .group(group)
                .channel(NioSocketChannel.class)
                .handler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(new HttpClientCodec(), new HttpObjectAggregator(65536), new Printer());
                        onewrite.apply(channel.pipeline());
                    }
                });
        OnewriteNetty.Call call = onewrite.begin("POST", url.toString());
        Channel channel = onewrite.apply(bootstrap).connect(url.getHost(), url.getPort()).sync().channel();
        call.on(channel);
        byte[] body = "hello".getBytes(StandardCharsets.UTF_8);
        HttpRequest head = new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, "/");
        head.headers().set("host", url.getAuthority()).set("content-length", body.length);
        channel.writeAndFlush(head);
        channel.writeAndFlush(new DefaultLastHttpContent(Unpooled.wrappedBuffer(body)));
        channel.closeFuture().sync();
        group.shutdownGracefully();
    }

    private static final class Printer extends SimpleChannelInboundHandler<FullHttpResponse> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, FullHttpResponse response) {
            System.out.println(response.content().toString(StandardCharsets.UTF_8));
            ctx.close();
        }
    }
}
