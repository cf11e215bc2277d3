// POSTs an order and prints where its time went. URL: first argument, ONEWRITE_EXAMPLE_URL, or port 8080 here.

import { request } from 'undici'
import { Agent } from 'onewrite'

const url = process.argv[2] ?? process.env.ONEWRITE_EXAMPLE_URL ?? 'http://127.0.0.1:8080/'
const dispatcher = new Agent({ onTiming: (timing) => console.log(String(timing)) })

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
