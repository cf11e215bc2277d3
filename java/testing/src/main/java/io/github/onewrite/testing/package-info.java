/** Servers on real sockets and the leak check that the tests of several modules share. Not published. */
package io.github.onewrite.testing;
