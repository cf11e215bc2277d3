package io.github.onewrite.client.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.ErrorKinds;
import io.netty.buffer.ByteBuf;
import io.netty.channel.DefaultFileRegion;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.LastHttpContent;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/** Sends a regular file: by sendfile on a plain connection, in blocks over TLS. */
final class FileSender extends BodySender {
    private static final int BLOCK = 64 * 1024;

    private final Path path;
    private final long length;
    private @Nullable FileChannel file;
    private long position;

    FileSender(Exchange exchange, BodySource.OfFile body) {
        super(exchange);
        path = body.path();
        String announced = exchange.request().headers().get(HttpHeaderNames.CONTENT_LENGTH);
        length = announced == null ? 0 : Long.parseLong(announced);
    }

    @Override
    boolean hasBody() {
        return length > 0;
    }

    @Override
    void sendBody() throws OnewriteException {
        FileChannel opened = open();
        if (overTls() || length == 0) {
            pump();
            return;
        }
        // The region closes the file when it is released, whether it was sent or not.
        file = null;
        write(new DefaultFileRegion(opened, 0, length));
        writeLast(LastHttpContent.EMPTY_LAST_CONTENT);
    }

    @Override
    HttpContent next() throws OnewriteException {
        FileChannel from = file;
        if (from == null || position == length) {
            close();
            return LastHttpContent.EMPTY_LAST_CONTENT;
        }
        return new DefaultHttpContent(read(from, (int) Math.min(BLOCK, length - position)));
    }

    @Override
    void cancel() {
        super.cancel();
        close();
    }

    private FileChannel open() throws OnewriteException {
        try {
            FileChannel opened = FileChannel.open(path, StandardOpenOption.READ);
            file = opened;
            if (opened.size() != length) {
                throw new OnewriteException(
                        ErrorKind.OTHER,
                        path + " changed its size from " + length + " to " + opened.size() + " since the call began");
            }
            return opened;
        } catch (OnewriteException e) {
            throw e;
        } catch (IOException e) {
            throw new OnewriteException(ErrorKind.OTHER, path + " cannot be read: " + e, e);
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
