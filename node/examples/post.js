// POSTs an order and prints where its time went. URL: first argument, ONEWRITE_EXAMPLE_URL, or https://example.com/.

import { request } from 'undici'
import { Agent } from 'onewrite'

const url = process.argv[2] ?? process.env.ONEWRITE_EXAMPLE_URL ?? 'https://example.com/'
const dispatcher = new Agent({ onTiming: (record) => console.log(String(record)) })

for (let order = 1; order <= 3; order++) {
  const { statusCode, body } = await request(url, {
    dispatcher,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ order })
  })
  await body.dump()
  if (statusCode >= 400) process.exitCode = 1
}
await dispatcher.close()
