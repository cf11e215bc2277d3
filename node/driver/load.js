// The load of the protocol. Returns raw latencies; the bench aggregates.

import { makeBody } from './body.js'
import { Skipped } from './skipped.js'

const now = () => performance.now()
const toUs = (ms) => Math.round(ms * 1000)

export async function runLoad (client, message) {
  const method = message.method ?? 'POST'
  const kind = message.body?.kind ?? 'none'
  const fixed = ['none', 'bytes', 'text', 'form'].includes(kind) ? await makeBody(message.body, client.api.name, client.api.types) : null
  const state = { latencies: [], service: [], errors: 0, sample: null }

  const once = async (dueAt) => {
    const sentAt = now()
    try {
      let status
      if (fixed && fixed.headers.length === 0) {
        status = await client.api.post(client.transport, message.url, method, fixed.value)
      } else {
        const body = fixed ?? await makeBody(message.body, client.api.name, client.api.types)
        const answer = await client.api.request(client.transport, { method, url: message.url, headers: body.headers, body: body.value, read: 'all' })
        status = answer.status
        await body.dispose?.()
      }
      const end = now()
      if (message.expect ? status !== message.expect : status < 200 || status > 299) {
        state.errors++
        state.sample ??= `status ${status}`
        return
      }
      state.latencies.push(toUs(end - (dueAt ?? sentAt)))
      state.service.push(toUs(end - sentAt))
    } catch (error) {
      state.errors++
      state.sample ??= String(error?.stack ?? error)
    }
  }

  const callers = message.connections ?? 1
  for (let left = message.warmup ?? 0; left > 0; left -= callers) {
    await Promise.all(Array.from({ length: Math.min(callers, left) }, () => once()))
  }
  Object.assign(state, { latencies: [], service: [], errors: 0, sample: null })
  client.phases?.reset()

  const started = process.hrtime.bigint()
  if ((message.mode ?? 'closed') === 'closed') await closedLoop(once, callers, message)
  else await openLoop(once, message)
  const ended = process.hrtime.bigint()

  return {
    latencies_us: state.latencies,
    service_us: state.service,
    errors: state.errors,
    error_sample: state.sample,
    started_mono_ns: Number(started),
    ended_mono_ns: Number(ended),
    ...(client.phases ? { phases: client.phases.take() } : null)
  }
}

async function closedLoop (once, callers, { count, seconds }) {
  if (count === undefined && seconds === undefined) throw new Skipped('a load needs count or seconds')
  const deadline = seconds === undefined ? Infinity : now() + seconds * 1000
  let left = count ?? Infinity
  const caller = async () => {
    while (left > 0 && now() < deadline) {
      left--
      await once()
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
}

// Open loop: requests are due at the given rate, whatever the server does; a late timer sends all that are due.
async function openLoop (once, { rate, seconds, count }) {
  if (!rate) throw new Skipped('an open load needs a rate')
  const total = count ?? Math.round(rate * (seconds ?? 1))
  const interval = 1000 / rate
  const start = now()
  const running = new Set()
  for (let index = 0; index < total;) {
    const due = start + index * interval
    const wait = due - now()
    if (wait > 0) {
      await new Promise((resolve) => wait > 1 ? setTimeout(resolve, wait - 1) : setImmediate(resolve))
      continue
    }
    const run = once(due).finally(() => running.delete(run))
    running.add(run)
    index++
  }
  await Promise.all(running)
}
