// One small answer: node:http, alone or as a cluster of two.
import cluster from 'node:cluster'
import { createServer } from 'node:http'

const [port, workers] = process.argv.slice(2).map(Number)
if (workers && cluster.isPrimary) {
  for (let n = 0; n < workers; n++) cluster.fork()
} else {
  createServer((request, response) => response.end('x'.repeat(200))).listen(port, '127.0.0.1')
}
