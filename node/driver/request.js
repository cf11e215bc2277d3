// Sends one request through one open client and makes the protocol's reply.

import { createHash } from 'node:crypto'
import { makeBody } from './body.js'
import { describeError } from './errors.js'
import { phaseWatch } from './phase.js'

/** Turns of the event loop that a reply waits for the call's record after the call itself is over: some second. */
const RECORD_TURNS = 800

export async function runRequest (client, message) {
  const body = await makeBody(message.body, client.api.name, client.api.types)
  // The lengths that a case gives replace those that a user would add.
  const given = message.headers ?? []
  const framed = given.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name))
  const headers = framed ? given : [...given, ...body.headers]
  const signals = []
  const canceller = message.cancel_after_ms === undefined || message.cancel_after_ms === null ? null : new AbortController()
  if (canceller) {
    signals.push(canceller.signal)
    setTimeout(() => canceller.abort(), message.cancel_after_ms)
  }
  if (message.timeout_ms) signals.push(AbortSignal.timeout(message.timeout_ms))
  const signal = signals.length > 1 ? AbortSignal.any(signals) : signals[0]

  const watch = client.watch?.()
  const call = () => client.api.request(client.transport, {
    method: message.method ?? 'GET', url: message.url, headers, body: body.value, signal, read: message.read ?? 'all'
  })
  const phase = watch ? null : phaseWatch(client.api.name)
  const started = process.hrtime.bigint()
  /** @type {any} */
  let result
  try {
    const answer = await (watch ? watch.run(call) : phase.run(call))
    result = {
      outcome: 'response',
      status: answer.status,
      headers: answer.headers,
      body_bytes: answer.body.length,
      body_sha256: createHash('sha256').update(answer.body).digest('hex')
    }
  } catch (error) {
    const described = describeError(error)
    if (phase) described.phase = phase.at(described.kind)
    const cancelled = canceller?.signal.aborted === true && described.kind === 'cancelled'
    result = { outcome: cancelled ? 'cancelled' : 'error', error: described }
  }
  result.elapsed_us = Number((process.hrtime.bigint() - started) / 1000n)
  await body.dispose?.()

  if (watch) {
    await watch.recorded(RECORD_TURNS)
    const last = watch.records.at(-1)
    if (result.error && last?.errorPhase) result.error.phase = last.errorPhase
    result.records = watch.records.map((record) => ({ ...record.toJSON(), events: record.events.map(([name, tNs]) => [snakeCase(name), tNs]) }))
  }
  return result
}

function snakeCase (name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
