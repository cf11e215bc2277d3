// An HTTP/2 origin (cleartext, prior knowledge) that ends each answer late: the body at once, END_STREAM 3 ms after.
// Prints one JSON line with its port when it is ready, and ends when its standard input ends.
import { createServer } from 'node:http2';

const LATE_MS = 3;

const server = createServer();
server.on('stream', (stream) => {
  stream.on('error', () => {});
  stream.resume();
  stream.on('end', () => {
    stream.respond({ ':status': 200, 'content-type': 'text/plain', 'content-length': 2 });
    stream.write('ok');
    setTimeout(() => stream.end(), LATE_MS);
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ ready: true, pid: process.pid, ports: { h2: server.address().port } }));
});
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
