// The load of the protocol. Returns raw latencies; the bench aggregates.

import { makeBody } from './body.js'
import { Skipped } from './skipped.js'

const now = () => performance.now()

export async function runLoad (client, message) {
  const { url, method = 'POST', connections = 1, count, seconds, expect } = message
  if (count === undefined && seconds === undefined) throw new Skipped('a load needs count or seconds')
  const kind = message.body?.kind ?? 'none'
  const fixed = ['none', 'bytes', 'text', 'form'].includes(kind) ? await makeBody(message.body, client.api.name, client.api.types) : null
  const latencies = []
  let errors = 0
  let sample = null

  const once = async () => {
    const sentAt = now()
    try {
      let status
      if (fixed && fixed.headers.length === 0) {
        status = await client.api.post(client.transport, url, method, fixed.value)
      } else {
        const body = fixed ?? await makeBody(message.body, client.api.name, client.api.types)
        const answer = await client.api.request(client.transport, { method, url, headers: body.headers, body: body.value, read: 'all' })
        status = answer.status
        await body.dispose?.()
      }
      const took = now() - sentAt
      if (expect ? status === expect : status >= 200 && status <= 299) {
        latencies.push(Math.round(took * 1000))
      } else {
        errors++
        sample ??= `status ${status}`
      }
    } catch (error) {
      errors++
      sample ??= String(error?.stack ?? error)
    }
  }

  const deadline = seconds === undefined ? Infinity : now() + seconds * 1000
  let left = count ?? Infinity
  const caller = async () => {
    while (left > 0 && now() < deadline) {
      left--
      await once()
    }
  }
  await Promise.all(Array.from({ length: connections }, caller))
  return { latencies_us: latencies, errors, error_sample: sample }
}
