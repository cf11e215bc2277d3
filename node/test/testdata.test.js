// The tables of spec/testdata, which all languages run.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { inspect } from 'node:util'
import { errorKind } from '../src/errors.js'
import { otelAttributes, otelPhases } from '../src/opentelemetry/attributes.js'
import { Steps } from '../src/timing/connection.js'
import { redactUrl } from '../src/timing/redact.js'
import { Timing } from '../src/timing/record.js'

const table = (name) => JSON.parse(readFileSync(new URL(`../../spec/testdata/${name}.json`, import.meta.url), 'utf8'))

describe('redaction', () => {
  for (const { url, redacted, about } of table('redaction').rows) test(`${about}: ${url}`, () => assert.equal(redactUrl(url), redacted))
})

describe('error kinds', () => {
  const errorOf = ({ message = '', cause, errors, ...own }) => Object.assign(new Error(message), own,
    cause && { cause: errorOf(cause) }, errors && { errors: errors.map(errorOf) })
  for (const { about, kind, node = [] } of table('error_kinds').rows) {
    for (const error of node) test(`${about}: ${JSON.stringify(error)}`, () => assert.equal(errorKind(errorOf(error)), kind))
  }
})

/** A record made of its times by the code that makes them in a call. */
function recordOf ({ record }) {
  const attempts = record.attempts.map((attempt) => {
    const { at } = attempt
    const ns = (name) => at[name] === undefined ? undefined : record.started_at_mono_ns + at[name]
    const steps = Object.assign(new Steps(), {
      dnsStartNs: ns('dns_start'),
      dnsEndNs: ns('dns_end'),
      connectStartNs: ns('connect_start'),
      connectEndNs: ns('connect_end'),
      tlsStartNs: ns('tls_start'),
      tlsEndNs: ns('tls_end')
    })
    return {
      index: attempt.index,
      startNs: ns('attempt_start'),
      outcome: attempt.outcome,
      errorPhase: attempt.outcome === 'ok' ? undefined : at.response_start ? 'receive' : at.request_end ? 'wait' : at.request_start ? 'send' : record.error_phase,
      endNs: ns('attempt_end'),
      connId: attempt.conn_id,
      connRequests: attempt.conn_requests,
      reused: attempt.reused,
      idleNs: attempt.idle_ns,
      proxy: attempt.proxy,
      steps,
      queueEndNs: ns('queue_end'),
      requestStartNs: ns('request_start'),
      requestEndNs: ns('request_end'),
      bytesSent: attempt.bytes_sent,
      writes: attempt.writes,
      responseStartNs: ns('response_start'),
      responseEndNs: ns('response_end'),
      answered: attempt.bytes_received !== undefined,
      bytesReceived: attempt.bytes_received,
      status: attempt.status
    }
  })
  const timing = new Timing(/** @type {any} */ ({
    method: record.method,
    origin: record.url,
    path: '',
    startNs: record.started_at_mono_ns,
    attempts,
    lastAttempt: attempts.at(-1),
    closed: true,
    outcome: record.outcome,
    errorKind: record.error_kind,
    errorPhase: record.error_phase,
    endNs: record.started_at_mono_ns + record.total_ns
  }))
  // The wall clock of the table is not this machine's.
  return Object.defineProperty(timing, 'startedAtUnixNs', { value: record.started_at_unix_ns })
}

const { records } = table('records')
/** Node has no call for TCP_INFO, so no record has its evidence. */
const HAS = ['queue', 'dns_split', 'attempts', 'proxy_forward', 'proxy_connect']
const skipped = ({ record }) => {
  const lacking = (records[record].needs ?? []).filter((need) => !HAS.includes(need))
  return lacking.length > 0 && `no ${lacking.join(', ')}`
}

test('most rows apply to this adapter', () => {
  assert.ok(table('text_form').rows.filter((row) => !skipped(row)).length >= 10)
})

describe('JSON', () => {
  for (const [name, { record }] of Object.entries(records)) {
    test(name, { skip: skipped({ record: name }) }, () => {
      const json = JSON.parse(JSON.stringify(recordOf(records[name])))
      const plain = ({ at, ...rest }) => rest
      const wanted = { ...plain(record), attempts: record.attempts.map(plain) }
      for (const [field, value] of Object.entries(wanted)) if (field !== 'attempts') assert.deepEqual(json[field], value, field)
      assert.equal(json.attempts.length, wanted.attempts.length)
      wanted.attempts.forEach((attempt, index) => {
        for (const [field, value] of Object.entries(attempt)) assert.deepEqual(json.attempts[index][field], value, `${index} ${field}`)
      })
      const last = json.attempts.at(-1) ?? {}
      for (const field of ['status', 'wait_ns']) assert.deepEqual(json[field], last[field], field)
    })
  }
})

describe('the text form', () => {
  for (const row of table('text_form').rows) {
    test(row.record, { skip: skipped(row) }, () => {
      const timing = recordOf(records[row.record])
      assert.deepEqual([String(timing), inspect(timing)], [row.text, row.text])
    })
  }
})

describe('mappers', () => {
  /** Numbers within 0.000001, names and words exactly. */
  const near = (found, wanted, path) => {
    if (typeof wanted === 'number') return assert.ok(Math.abs(found - wanted) < 1e-6, `${path} is ${found}, wanted ${wanted}`)
    if (typeof wanted !== 'object') return assert.equal(found, wanted, path)
    assert.deepEqual(Object.keys(found).sort(), Object.keys(wanted).sort(), path)
    for (const [name, value] of Object.entries(wanted)) near(found[name], value, `${path}.${name}`)
  }
  for (const row of table('mappers').rows) {
    test(row.record, { skip: skipped(row) }, () => {
      const timing = recordOf(records[row.record])
      const found = { otel_attributes: otelAttributes(timing), otel_phases: otelPhases(timing) }
      for (const [name, mapped] of Object.entries(found)) near(mapped, row[name], name)
    })
  }
})
