// A small web service that forwards each POST through a proxy and logs where the time of each call went.
//
//   make -C ../bench stand                          # HAProxy before an origin; prints URL=
//   UPSTREAM=$URL node examples/service.js          # PORT=8000 unless set; 0 takes a free one
//   curl --data '{"item": "tea"}' http://127.0.0.1:8000/orders

import { createServer } from 'node:http'
import { request } from 'undici'
import { Agent } from 'onewrite'

const upstream = new URL(process.env.UPSTREAM)
const dispatcher = new Agent({ connections: 10, onTiming: (record) => console.log(JSON.stringify(record)) })

const server = createServer(async (incoming, outgoing) => {
  const parts = []
  for await (const part of incoming) parts.push(part)
  try {
    const stored = await request(upstream, {
      dispatcher,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.concat(parts)
    })
    const answer = Buffer.from(await stored.body.arrayBuffer())
    outgoing.writeHead(stored.statusCode, { 'content-type': 'application/json' }).end(answer)
  } catch (error) {
    outgoing.writeHead(502, { 'content-type': 'application/json' }).end(JSON.stringify({ error: error.code ?? error.name }))
  }
})

server.listen(Number(process.env.PORT ?? 8000), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/orders`)
})
