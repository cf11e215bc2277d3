// The tracers and mocks of the matrix: how each is started, and what it has recorded. OpenTelemetry: opentelemetry.test.js.
//
// A tracer gives its spans, each as a line without what differs from run to run, and their ids. A mock answers one URL and
// lets every other request through.

import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const require = createRequire(import.meta.url)

export const ANSWER = 'from the mock'
const UNDICI = fileURLToPath(new URL('../../node_modules/undici', import.meta.url))

/**
 * @typedef {object} Tool
 * @property {string} package the npm package
 * @property {string[]} clients that it sees
 * @property {boolean} [mocks]
 * @property {string} [mocked] the URL that it answers; default: `/mocked` of the server
 * @property {boolean} [isDispatcher] it is a global dispatcher like onewrite's, so the one that is set last is used
 * @property {() => any} start patches
 * @property {(run: () => Promise<void>) => Promise<void>} [under] runs the calls in a transaction, for a tracer that records
 *   nothing outside of one
 * @property {() => any} [stop] undoes start(); tracers have none
 * @property {() => [string, string][] | Promise<[string, string][]>} [spans] each span's id and its line
 */

const line = (/** @type {any[]} */ ...parts) => parts.map((part) => typeof part === 'object' ? JSON.stringify(part) : String(part)).join(' ')
const kept = (from, names) => Object.fromEntries(names.map((name) => [name, from?.[name]]).filter(([, value]) => value !== undefined))
const HTTP_NAMES = ['http.request.method', 'http.response.status_code', 'url.full', 'url.path', 'server.address', 'error.type', 'http.method', 'http.url', 'http.status_code',
  'network.protocol.version', 'user_agent.original']

const TRACER = { clients: ['fetch', 'undici', 'http'] }
const MOCK = { clients: ['fetch', 'http'], mocks: true }

/** @param {string} url of the server @returns {Record<string, () => Tool>} */
export const toolsFor = (url) => ({
  'dd-trace': () => {
    const found = []
    return {
      package: 'dd-trace',
      ...TRACER,
      start () {
        Object.assign(process.env, { DD_INSTRUMENTATION_TELEMETRY_ENABLED: 'false', DD_REMOTE_CONFIGURATION_ENABLED: 'false', DD_TRACE_STARTUP_LOGS: 'false', DD_CRASHTRACKING_ENABLED: 'false' })
        const tracer = require('dd-trace').init({ plugins: true })
        // The tracer's own tests take the spans here, too.
        tracer._tracer._processor._exporter = { export: (spans) => found.push(...spans), setUrl () {}, flush (done) { done?.() } }
      },
      // How many connections a pool opens, and when, depends on timing.
      spans: () => found.filter((span) => span.name.endsWith('.request')).map((span) => [span.span_id.toString(16).padStart(16, '0'), line(span.name, span.error, kept(span.meta, ['http.method', 'http.status_code', 'http.url', 'component', 'error.type']))])
    }
  },

  'elastic-apm-node': () => {
    const found = []
    let apm
    const transport = new Proxy({ sendSpan (span, done) { found.push(span); done?.() }, supportsKeepingUnsampledTransaction: () => true }, {
      get: (target, name) => target[name] ?? ((...args) => { const done = args.at(-1); if (typeof done === 'function') done() })
    })
    return {
      package: 'elastic-apm-node',
      ...TRACER,
      start () {
        apm = require('elastic-apm-node').start({
          serviceName: 'matrix',
          centralConfig: false,
          metricsInterval: '0s',
          cloudProvider: 'none',
          logLevel: 'off',
          captureExceptions: false,
          spanCompressionEnabled: false,
          exitSpanMinDuration: '0ms',
          breakdownMetrics: false,
          apmServerVersion: '8.0.0',
          transport: () => transport
        })
      },
      async under (run) {
        const transaction = apm.startTransaction('calls')
        await run()
        transaction.end()
        await apm.flush()
      },
      spans: () => found.map((span) => [span.id, line(span.name, span.type, span.subtype, span.outcome, kept(span.context?.http, ['method', 'url', 'status_code']))])
    }
  },

  newrelic: () => {
    let newrelic
    return {
      package: 'newrelic',
      ...TRACER,
      start () {
        Object.assign(process.env, { NEW_RELIC_NO_CONFIG_FILE: 'true', NEW_RELIC_APP_NAME: 'matrix', NEW_RELIC_LICENSE_KEY: 'x'.repeat(40), NEW_RELIC_LOG_ENABLED: 'false', NEW_RELIC_HOST: '127.0.0.1', NEW_RELIC_PORT: '9', NEW_RELIC_SPAN_EVENTS_MAX_SAMPLES_STORED: '10000', NEW_RELIC_TRACER_ENABLED: 'true', NEW_RELIC_TRUSTED_ACCOUNT_KEY: '1', NEW_RELIC_ACCOUNT_ID: '1', NEW_RELIC_PRIMARY_APPLICATION_ID: '1' })
        newrelic = require('newrelic')
        newrelic.agent.setState?.('started')
      },
      async under (run) {
        await newrelic.startBackgroundTransaction('calls', async () => {
          newrelic.agent.getTransaction().sampled = true
          newrelic.agent.getTransaction().priority = 2
          await run()
        })
      },
      spans: () => newrelic.agent.spanEventAggregator.getEvents().filter(({ intrinsics }) => intrinsics.category === 'http')
        .sort((a, b) => a.intrinsics.timestamp - b.intrinsics.timestamp)
        .map(({ intrinsics, attributes }) => [intrinsics.guid, line(intrinsics.name, intrinsics.component, kept(attributes, ['http.statusCode', 'http.statusText', 'http.url', 'error.class']))])
    }
  },

  sentry: () => {
    const found = []
    let Sentry
    const transport = { async send ([, items]) { for (const [, payload] of items) found.push(...payload.items ?? []); return {} }, flush: async () => true }
    return {
      package: '@sentry/node',
      ...TRACER,
      start () {
        Sentry = require('@sentry/node')
        Sentry.init({ dsn: 'http://public@127.0.0.1:9/1', tracesSampleRate: 1, tracePropagationTargets: [/.*/], transport: () => transport })
      },
      async under (run) {
        await Sentry.startSpan({ name: 'calls', op: 'test' }, run)
        await Sentry.flush(1000)
      },
      spans: () => found.filter(({ span_id: id }) => id !== undefined).map((span) => [span.span_id, line(span.name, span.status, kept(Object.fromEntries(Object.entries(span.attributes).map(([name, { value }]) => [name, value])), ['sentry.op', 'sentry.origin', ...HTTP_NAMES]))])
    }
  },

  nock: () => {
    let nock
    return {
      package: 'nock',
      ...MOCK,
      start () {
        nock = require('nock').default
        nock(url, { allowUnmocked: true }).persist().post('/mocked').reply(201, ANSWER)
      },
      stop () {
        nock.cleanAll()
        nock.restore()
      }
    }
  },

  msw: () => {
    let server
    return {
      package: 'msw',
      ...MOCK,
      async start () {
        const { http, HttpResponse } = require('msw')
        const { setupServer } = require('msw/node')
        server = setupServer(http.post(`${url}/mocked`, () => new HttpResponse(ANSWER, { status: 201 })))
        server.listen({ onUnhandledRequest: 'bypass' })
      },
      stop () { server.close() }
    }
  },

  'undici MockAgent': () => {
    const undici = require(UNDICI)
    // For an origin that the agent already has a pool for, it uses that pool and not the mock.
    const origin = url.replace('localhost', '127.0.0.1')
    let mock, previous
    return {
      package: 'undici',
      clients: ['fetch'],
      mocks: true,
      isDispatcher: true,
      mocked: `${origin}/mocked`,
      start () {
        previous = undici.getGlobalDispatcher()
        mock = new undici.MockAgent({ agent: previous })
        mock.enableNetConnect()
        mock.get(origin).intercept({ path: '/mocked', method: 'POST' }).reply(201, ANSWER).persist()
        undici.setGlobalDispatcher(mock)
      },
      stop () { undici.setGlobalDispatcher(previous) }
    }
  }
})
