package io.github.onewrite.okhttp;

/** A socket that says when it is closed. */
interface ClosingSocket {
    Closing closing();
}
