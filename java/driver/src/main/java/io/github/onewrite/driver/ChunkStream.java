package io.github.onewrite.driver;

import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.List;

/** Chunks to be read one after the other, each but the first after a pause. */
final class ChunkStream extends InputStream {
    private final List<byte[]> chunks;
    private final long gapMs;
    private int index;
    private int offset;

    ChunkStream(List<byte[]> chunks, long gapMs) {
        this.chunks = chunks;
        this.gapMs = gapMs;
    }

    @Override
    public int read() throws InterruptedIOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] into, int from, int length) throws InterruptedIOException {
        if (length == 0) {
            return 0;
        }
        while (index < chunks.size() && offset == chunks.get(index).length) {
            index++;
            offset = 0;
        }
        if (index == chunks.size()) {
            return -1;
        }
        if (offset == 0 && index > 0 && gapMs > 0) {
            pause();
        }
        byte[] chunk = chunks.get(index);
        int count = Math.min(length, chunk.length - offset);
        System.arraycopy(chunk, offset, into, from, count);
        offset += count;
        return count;
    }

    /** What is left of the chunk at hand: AsyncHttpClient reads single bytes from a stream that does not say. */
    @Override
    public int available() {
        boolean ready = index < chunks.size() && (offset > 0 || index == 0 || gapMs == 0);
        return ready ? chunks.get(index).length - offset : 0;
    }

    private void pause() throws InterruptedIOException {
        try {
            Thread.sleep(gapMs);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException();
        }
    }
}
