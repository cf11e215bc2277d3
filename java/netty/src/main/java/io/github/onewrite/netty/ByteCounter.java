package io.github.onewrite.netty;

import io.netty.buffer.ByteBuf;
import io.netty.channel.FileRegion;

/** Counts the bytes of HTTP that a request writes, and notes when the first byte of its response was read. */
final class ByteCounter {
    private boolean pending;
    private long bytes;
    private int writes;
    private long firstRead;
    private long lastRead;

    /** Nothing is counted yet. */
    public ByteCounter() {}

    /** A request begins. */
    public void begin() {
        pending = false;
        bytes = 0;
        writes = 0;
        firstRead = 0;
    }

    /** A message goes to the transport or to TLS. */
    public void wrote(Object message) {
        long size = 0;
        if (message instanceof ByteBuf buffer) {
            size = buffer.readableBytes();
        } else if (message instanceof FileRegion region) {
            size = region.count() - region.transferred(); // its first piece may have gone before
        }
        bytes += size;
        pending |= size > 0;
    }

    /** What was written is flushed. @return whether these are the first bytes of the request */
    public boolean flushed() {
        if (!pending) {
            return false;
        }
        pending = false;
        return writes++ == 0;
    }

    /** Bytes were read. Called for timed requests only, because it reads the clock. */
    public void read() {
        lastRead = System.nanoTime();
        if (firstRead == 0) {
            firstRead = lastRead;
        }
    }

    /** The bytes so far were an interim response: the final one starts with the next. */
    public void interimRead() {
        firstRead = 0;
    }

    /** Bytes handed over since {@link #begin}. */
    public long bytes() {
        return bytes;
    }

    /** Times such bytes were flushed. The transport may need several system calls for a large one. */
    public int writes() {
        return writes;
    }

    /** When the first byte of the response was read. */
    public long firstRead() {
        return firstRead == 0 ? lastRead : firstRead;
    }
}
