import io.github.onewrite.netty.OnewriteNetty;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.pool.AbstractChannelPoolHandler;
import io.netty.channel.pool.ChannelPool;
import io.netty.channel.pool.FixedChannelPool;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;

/** POSTs once over Netty's pool. The head is flushed before the body, and leaves with it. */
public final class NettyPost {
    public static void main(String[] args) throws Exception {
        URI url = URI.create(System.getenv().getOrDefault("ONEWRITE_EXAMPLE_URL", "http://127.0.0.1:8080/"));
        byte[] body = "hello".getBytes(StandardCharsets.UTF_8);
        CountDownLatch answered = new CountDownLatch(1);
        EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        Bootstrap bootstrap = new Bootstrap()
                .group(group)
                .channel(NioSocketChannel.class)
                .remoteAddress(new InetSocketAddress(url.getHost(), url.getPort()));
        AbstractChannelPoolHandler handler = new AbstractChannelPoolHandler() {
            @Override
            public void channelCreated(Channel channel) {
                channel.pipeline().addLast(new HttpClientCodec(), new HttpObjectAggregator(65536), new SimpleChannelInboundHandler<FullHttpResponse>() {
                    @Override
                    protected void channelRead0(ChannelHandlerContext ctx, FullHttpResponse response) {
                        System.out.println(response.status());
                        answered.countDown();
                    }
                });
            }
        };

        OnewriteNetty onewrite = OnewriteNetty.create().onTiming(System.out::println);
        ChannelPool pool = onewrite.wrap(
                new FixedChannelPool(onewrite.apply(bootstrap), onewrite.wrap(handler), 8), "http://" + url.getAuthority());

        Channel channel = pool.acquire().sync().getNow();
        channel.eventLoop().execute(() -> {
            HttpRequest head = new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, url.getPath());
            head.headers().set("host", url.getAuthority()).set("content-length", body.length);
            channel.writeAndFlush(head);
            channel.writeAndFlush(new DefaultLastHttpContent(Unpooled.wrappedBuffer(body)));
        });
        answered.await();
        pool.release(channel).sync();
        pool.close();
        group.shutdownGracefully();
    }
}
