package io.github.onewrite.netty;

import io.netty.buffer.ByteBuf;
import io.netty.util.ByteProcessor;
import org.jspecify.annotations.Nullable;

/**
 * Reads along while a response's head arrives, and finds the header lines that Netty's decoder lets pass: without a
 * colon but with a space, and with a space before the colon (RFC 9112, 5 and 5.1: two readers may take such a line for
 * different fields). It looks at each byte of a head once, and at none of a body.
 */
final class HeadGuard implements ByteProcessor {
    private enum Place {
        STATUS_LINE,
        LINE_START,
        NAME,
        VALUE,
        BODY
    }

    /** Where the status code begins in {@code HTTP/1.1 200 OK}. */
    private static final int STATUS_CODE = 9;

    private Place place = Place.BODY;
    private int column;
    private boolean interim;
    private boolean firstField;
    private @Nullable String fault;

    /** A head is to come. */
    void expectHead() {
        place = Place.STATUS_LINE;
        column = 0;
        interim = false;
        firstField = true;
        fault = null;
    }

    /** Reads what came. @return what is wrong with the head, or null */
    @Nullable
    String read(ByteBuf bytes) {
        if (place != Place.BODY) {
            bytes.forEachByte(this);
        }
        return fault;
    }

    /** @return false to stop */
    @Override
    public boolean process(byte value) {
        switch (place) {
            case STATUS_LINE -> statusLine(value);
            case VALUE -> {
                if (value == '\n') {
                    place = Place.LINE_START;
                    firstField = false;
                }
            }
            case LINE_START -> lineStart(value);
            case NAME -> name(value);
            case BODY -> {}
        }
        return place != Place.BODY;
    }

    private void statusLine(byte value) {
        if (value == '\n' && column > 0) {
            place = Place.LINE_START;
        } else if (column > 0 || value > ' ') {
            interim |= column == STATUS_CODE && value == '1';
            column++;
        }
    }

    private void lineStart(byte value) {
        if (value == '\n' && interim) {
            // The head of the final response follows, perhaps in the same read.
            expectHead();
        } else if (value == '\n') {
            place = Place.BODY;
        } else if (value == ' ' || value == '\t') {
            // The continuation of the line before (RFC 9112, 5.2), which the decoder joins; the first line continues
            // none.
            if (firstField) {
                refuse("a header line that begins with a space");
            } else {
                place = Place.VALUE;
            }
        } else if (value == ':') {
            refuse("a header line without a name");
        } else if (value != '\r') {
            place = Place.NAME;
        }
    }

    private void name(byte value) {
        if (value == ':') {
            place = Place.VALUE;
        } else if (value == ' ' || value == '\t' || value == '\r' || value == '\n') {
            refuse("a header line without a colon behind its name");
        }
    }

    private void refuse(String what) {
        fault = what;
        place = Place.BODY;
    }
}
