// The tables of spec/testdata, which all languages run.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { inspect } from 'node:util'
import { context, metrics, trace } from '@opentelemetry/api'
import { errorKind } from '../src/errors.js'
import { openTelemetry } from '../src/opentelemetry/index.js'
import { TimingRecord, urlOf } from '../src/timing/record.js'

const table = (name) => JSON.parse(readFileSync(new URL(`../../spec/testdata/${name}.json`, import.meta.url), 'utf8'))
const { records } = table('records')
const camelCase = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())
/** Node has no call for TCP_INFO, so no record has its evidence. */
const HAS = ['queue', 'dns_split', 'resend', 'proxy_forward', 'proxy_connect']
const skipped = (name) => {
  const lacking = (records[name].needs ?? []).filter((need) => !HAS.includes(need))
  return lacking.length > 0 && `no ${lacking.join(', ')}`
}
/** @returns {any} */
const recordOf = (name) => Object.assign(new TimingRecord(), Object.fromEntries(Object.entries(records[name].record).map(([key, value]) => [camelCase(key), value])))

describe('URLs', () => {
  for (const { url, record, about } of table('urls').rows) {
    const [, origin, path] = /^(\w+:\/\/[^/?#]*)(.*)$/.exec(url) ?? []
    test(`${about}: ${url}`, () => assert.deepEqual([urlOf(origin ?? '', path ?? ''), urlOf('http://proxy:1', url)], [record, record]))
  }
})

describe('error kinds', () => {
  const errorOf = ({ message = '', cause, errors, ...own }) => Object.assign(new Error(message), own,
    cause && { cause: errorOf(cause) }, errors && { errors: errors.map(errorOf) })
  for (const { about, kind, node = [] } of table('error_kinds').rows) {
    for (const error of node) test(`${about}: ${JSON.stringify(error)}`, () => assert.equal(errorKind(errorOf(error)), kind))
  }
})

test('most rows apply to this adapter', () => {
  assert.ok(table('text_form').rows.filter(({ record }) => !skipped(record)).length >= 14)
})

describe('JSON', () => {
  for (const [name, { record }] of Object.entries(records)) {
    test(name, { skip: skipped(name) }, () => {
      const { writes, ...wanted } = record
      const { writes: ours, ...found } = JSON.parse(JSON.stringify(recordOf(name)))
      assert.deepEqual(found, wanted)
    })
  }
})

describe('the text form', () => {
  for (const { record, text } of table('text_form').rows) {
    test(record, { skip: skipped(record) }, () => assert.deepEqual([String(recordOf(record)), inspect(recordOf(record))], [text, text]))
  }
})

describe('OpenTelemetry', () => {
  for (const row of table('opentelemetry').rows) {
    test(row.record, { skip: skipped(row.record) }, () => {
      const [span, measured] = [{}, {}]
      const instrument = (name) => (value, attributes) => { measured[name] = { value, attributes } }
      const meter = {
        createHistogram: (name) => ({ record: instrument(name) }),
        createCounter: (name) => ({ add: instrument(name) })
      }
      metrics.disable()
      metrics.setGlobalMeterProvider(/** @type {any} */ ({ getMeter: () => meter }))
      const active = trace.setSpan(context.active(), /** @type {any} */ ({ isRecording: () => true, setAttributes: (more) => Object.assign(span, more), spanContext: () => ({}) }))
      context.disable()
      context.setGlobalContextManager(/** @type {any} */ ({ active: () => active, with: (_, run) => run(), bind: (_, run) => run, enable () { return this }, disable () { return this } }))
      openTelemetry()(recordOf(row.record))
      context.disable()
      assert.deepEqual([span, measured], [row.span, row.metrics])
    })
  }
})
