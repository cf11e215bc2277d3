package io.github.onewrite.client.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.spi.ErrorKinds;
import io.netty.buffer.ByteBuf;
import io.netty.channel.DefaultFileRegion;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.LastHttpContent;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/**
 * Sends a regular file. A small one is read and joined with the head. Of a larger one the first part is joined; the
 * rest goes by sendfile on a plain connection, and in blocks, as the socket takes them, over TLS.
 */
final class FileSender extends BodySender {
    private static final int BLOCK = 64 * 1024;

    private final Path path;
    private final long length;
    private @Nullable FileChannel file;
    private long position;
    private boolean pumping;

    FileSender(Exchange exchange, PreparedRequest request, BodySource.OfFile body) {
        super(exchange, request);
        path = body.path();
        String announced = request.headers().get(HttpHeaderNames.CONTENT_LENGTH);
        length = announced == null ? 0 : Long.parseLong(announced);
    }

    @Override
    boolean hasBody() {
        return length > 0;
    }

    @Override
    boolean start() throws OnewriteException {
        FileChannel opened = open();
        int joined = (int) Math.min(length, writeHead());
        ByteBuf first = read(opened, joined);
        if (joined == length) {
            close();
            ctx.writeAndFlush(new DefaultLastHttpContent(first)).addListener(whenSent());
            return true;
        }
        if (first.isReadable()) {
            ctx.write(new DefaultHttpContent(first)).addListener(whenFailed());
        } else {
            first.release();
        }
        rest(opened);
        return true;
    }

    @Override
    void sendBody() throws OnewriteException {
        rest(open());
    }

    private void rest(FileChannel from) {
        if (overTls()) {
            pumping = true;
            writable();
            return;
        }
        // The region closes the file when it is released, whether it was sent or not.
        file = null;
        ctx.write(new DefaultFileRegion(from, position, length - position)).addListener(whenFailed());
        ctx.writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT).addListener(whenSent());
    }

    @Override
    void writable() {
        while (pumping && ctx.channel().isWritable()) {
            FileChannel from = file;
            if (from == null || position == length) {
                pumping = false;
                close();
                ctx.writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT).addListener(whenSent());
                return;
            }
            try {
                ByteBuf block = read(from, (int) Math.min(BLOCK, length - position));
                ctx.write(new DefaultHttpContent(block)).addListener(whenFailed());
                exchange.sending();
            } catch (OnewriteException e) {
                exchange.sendFailed(e);
                return;
            }
            if (!ctx.channel().isWritable()) {
                ctx.flush();
            }
        }
    }

    @Override
    void cancel() {
        pumping = false;
        close();
    }

    private FileChannel open() throws OnewriteException {
        try {
            FileChannel opened = FileChannel.open(path, StandardOpenOption.READ);
            file = opened;
            if (opened.size() != length) {
                throw new OnewriteException(
                        ErrorKind.INVALID_REQUEST,
                        path + " changed its size from " + length + " to " + opened.size() + " since the call began");
            }
            return opened;
        } catch (OnewriteException e) {
            throw e;
        } catch (IOException e) {
            throw new OnewriteException(ErrorKind.INVALID_REQUEST, path + " cannot be read: " + e, e);
        }
    }

    private ByteBuf read(FileChannel from, int bytes) throws OnewriteException {
        ByteBuf block = ctx.alloc().ioBuffer(bytes);
        try {
            while (block.readableBytes() < bytes) {
                int read = block.writeBytes(from, position, bytes - block.readableBytes());
                if (read < 0) {
                    throw new IOException("it became shorter while it was sent");
                }
                position += read;
            }
            return block;
        } catch (IOException e) {
            block.release();
            throw new OnewriteException(ErrorKind.OTHER, path + " cannot be read: " + ErrorKinds.text(e), e);
        }
    }

    private void close() {
        FileChannel open = file;
        file = null;
        if (open != null) {
            try {
                open.close();
            } catch (IOException e) {
                System.getLogger("io.github.onewrite").log(System.Logger.Level.DEBUG, "closing " + path, e);
            }
        }
    }
}
