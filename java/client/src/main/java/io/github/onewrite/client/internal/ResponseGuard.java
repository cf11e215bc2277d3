package io.github.onewrite.client.internal;

import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * Checks a response while it arrives for what Netty's decoder accepts, although two parsers may read it as different
 * messages: a status line, a header line or a chunk's size line that is not in the form of RFC 9112 (4, 5, 5.1
 * and 7.1). Each byte of a head and of a chunk's size is read once, and none of a body.
 */
final class ResponseGuard {
    private enum Place {
        STATUS_LINE,
        REASON,
        LINE_START,
        NAME,
        VALUE,
        CHUNK_SIZE,
        AFTER_CHUNK_SIZE,
        CHUNK_EXTENSION,
        CHUNK,
        CHUNK_CR,
        CHUNK_LF,
        BODY
    }

    private static final String VERSION = "HTTP/1.";

    /** Where the minor version, the status code and the reason stand in {@code HTTP/1.1 200 OK}. */
    private static final int MINOR = 7;

    private static final int STATUS = 9;
    private static final int STATUS_END = 12;

    private static final String CODING = "transfer-encoding";

    /** The number of hexadecimal digits with leading zeros. Netty 4.1 takes sizes modulo 2^32, so they are checked here. */
    private static final int MAX_DIGITS = 15;

    private Place place = Place.BODY;
    private boolean head;
    private int column;
    private int status;
    private boolean firstField;
    private boolean chunked;
    private boolean trailer;

    /** How far the name of the field equals that of Transfer-Encoding; -1 when it does not. */
    private int matched;

    private int digits;
    private long chunk;
    private @Nullable String fault;

    /** @param ofHead whether the response is to HEAD: it has the headers of a body but none */
    void expectHead(boolean ofHead) {
        head = ofHead;
        place = Place.STATUS_LINE;
        column = 0;
        status = 0;
        firstField = true;
        chunked = false;
        trailer = false;
        fault = null;
    }

    /** Checks these bytes. @return what is wrong with them, or null */
    @Nullable
    String read(ByteBuf bytes) {
        int at = bytes.readerIndex();
        int end = bytes.writerIndex();
        while (at < end && place != Place.BODY) {
            if (place == Place.CHUNK) {
                int skipped = (int) Math.min(chunk, end - at);
                chunk -= skipped;
                at += skipped;
                place = chunk == 0 ? Place.CHUNK_CR : Place.CHUNK;
            } else {
                process(bytes.getByte(at++));
            }
        }
        return fault;
    }

    private void process(byte value) {
        switch (place) {
            case STATUS_LINE -> statusLine(value);
            case REASON -> {
                if (value == '\n') {
                    place = Place.LINE_START;
                }
            }
            case LINE_START -> lineStart(value);
            case NAME -> name(value);
            case VALUE -> {
                if (value == '\n') {
                    place = Place.LINE_START;
                    firstField = false;
                }
            }
            case CHUNK_SIZE -> chunkSize(value);
            case AFTER_CHUNK_SIZE -> afterChunkSize(value);
            case CHUNK_EXTENSION -> {
                if (value == '\n') {
                    chunkLineRead();
                }
            }
            case CHUNK_CR -> delimiter(value, '\r', Place.CHUNK_LF);
            case CHUNK_LF -> {
                delimiter(value, '\n', Place.CHUNK_SIZE);
                digits = 0;
                chunk = 0;
            }
            case CHUNK, BODY -> {}
        }
    }

    private void statusLine(byte value) {
        if (column == 0 && (value == '\r' || value == '\n')) {
            // Empty lines before a message are skipped, as RFC 9112, 2.2 has it for requests.
            return;
        }
        boolean digit = value >= '0' && value <= '9';
        boolean right;
        if (column < MINOR) {
            right = value == VERSION.charAt(column);
        } else if (column == MINOR) {
            right = digit;
        } else if (column < STATUS) {
            right = value == ' ';
        } else if (column < STATUS_END) {
            right = digit && (column > STATUS || value != '0');
            status = status * 10 + value - '0';
        } else {
            right = value == ' ' || value == '\r' || value == '\n';
            place = value == '\n' ? Place.LINE_START : Place.REASON;
        }
        column++;
        if (!right) {
            refuse("a status line that is not HTTP/1.1, a status of three digits and a reason");
        }
    }

    private void lineStart(byte value) {
        if (value == '\n') {
            headRead();
        } else if (value == ' ' || value == '\t') {
            // A continuation of the previous line (RFC 9112, 5.2), which the decoder joins. The first line has none.
            if (firstField) {
                refuse("a header line that begins with a space");
            } else {
                place = Place.VALUE;
            }
        } else if (value == ':') {
            refuse("a header line without a name");
        } else if (value != '\r') {
            place = Place.NAME;
            matched = 0;
            match(value);
        }
    }

    private void headRead() {
        if (trailer) {
            place = Place.BODY;
        } else if (status < 200) {
            // The head of the final response follows, perhaps in the same read.
            expectHead(head);
        } else if (chunked && !head && status != 204 && status != 304) {
            place = Place.CHUNK_SIZE;
            digits = 0;
            chunk = 0;
        } else {
            place = Place.BODY;
        }
    }

    private void name(byte value) {
        if (value == ':') {
            place = Place.VALUE;
            chunked |= matched == CODING.length();
        } else if (value == ' ' || value == '\t' || value == '\r' || value == '\n') {
            refuse("a header line without a colon behind its name");
        } else {
            match(value);
        }
    }

    private void match(byte value) {
        boolean same = matched >= 0 && matched < CODING.length() && (value | 0x20) == CODING.charAt(matched);
        matched = same ? matched + 1 : -1;
    }

    private void chunkSize(byte value) {
        int digit = Character.digit(value, 16);
        if (digit >= 0 && digits < MAX_DIGITS) {
            digits++;
            chunk = chunk * 16 + digit;
        } else if (digits == 0 || digit >= 0 || chunk > Integer.MAX_VALUE) {
            refuse("a chunk without a valid size");
        } else {
            afterChunkSize(value);
        }
    }

    /** Spaces may stand before an extension (RFC 9112, 7.1.1), and old servers pad the size with them. */
    private void afterChunkSize(byte value) {
        switch (value) {
            case ' ', '\t', '\r' -> place = Place.AFTER_CHUNK_SIZE;
            case ';' -> place = Place.CHUNK_EXTENSION;
            case '\n' -> chunkLineRead();
            default -> refuse("a chunk size that is followed by something else than an extension");
        }
    }

    private void chunkLineRead() {
        if (chunk > 0) {
            place = Place.CHUNK;
        } else {
            place = Place.LINE_START;
            trailer = true;
            firstField = true;
        }
    }

    private void delimiter(byte value, char wanted, Place next) {
        if (value == wanted) {
            place = next;
        } else {
            refuse("a chunk that is longer than its size");
        }
    }

    private void refuse(String what) {
        fault = what;
        place = Place.BODY;
    }
}
