package io.github.onewrite.okhttp;

import java.io.IOException;

/** A socket whose writes can be joined. */
interface Joining {
    JoiningOutput output() throws IOException;
}
