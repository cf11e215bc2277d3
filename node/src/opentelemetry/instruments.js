/** The metrics: their names, units and bucket edges, and what a finished record adds to them. */

import { otelMetrics } from '../timing/mappers.js'
import { observeConnections, serverOf } from './connections.js'

/** @typedef {import('@opentelemetry/api').Attributes} Attributes */

/** Bucket edges, s. These are of the semantic conventions for HTTP. */
const REQUEST = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const CONNECTION = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
/** With edges at 35 and 50 ms: a wait caused by Nagle's algorithm and a delayed acknowledgement takes 40 to 45 ms. */
const WAIT = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** Those of the semantic conventions. Any other is counted as `_OTHER`, because each makes a time series of its own. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY'])

const SERVER = ['server.address', 'server.port']
const END = ['http.response.status_code', 'error.type']

export class Instruments {
  /** @param {import('@opentelemetry/api').Meter} meter */
  constructor (meter) {
    this.request = meter.createHistogram('http.client.request.duration', {
      unit: 's', description: 'Duration of HTTP client requests.', advice: { explicitBucketBoundaries: REQUEST }
    })
    this.wait = meter.createHistogram('onewrite.wait.duration', {
      unit: 's', description: 'From the last write of a request to the first byte of its response.', advice: { explicitBucketBoundaries: WAIT }
    })
    this.requests = meter.createCounter('onewrite.requests', { unit: '{request}', description: 'Requests that got a connection, reused or new.' })
    this.connection = meter.createHistogram('http.client.connection.duration', {
      unit: 's', description: 'The duration of the successfully established outbound HTTP connections.', advice: { explicitBucketBoundaries: CONNECTION }
    })
    meter.createObservableUpDownCounter('http.client.open_connections', {
      unit: '{connection}', description: 'Number of outbound HTTP connections that are currently active or idle on the client.'
    }).addCallback(observeConnections)
  }

  /**
   * @param {import('../timing/record.js').Timing} timing
   * @param {Attributes} attributes its `otelAttributes`
   * @param {import('@opentelemetry/api').Context} context
   * @param {boolean} requestDuration
   */
  record (timing, attributes, context, requestDuration) {
    const server = pick(attributes, SERVER)
    const asked = { ...server, 'http.request.method': METHODS.has(timing.method) ? timing.method : '_OTHER' }
    if (requestDuration) {
      const duration = otelMetrics(timing)['http.client.request.duration']
      if (duration !== undefined) this.request.record(duration, { ...asked, ...pick(attributes, END) }, context)
    }
    for (const { waitNs, reused } of timing.attempts) {
      if (waitNs !== undefined) this.wait.record(waitNs / 1e9, asked, context)
      if (reused !== undefined) this.requests.add(1, { ...server, 'onewrite.reused': reused }, context)
    }
  }

  /** @param {import('../timing/connection.js').Connection} connection @param {number} seconds */
  connectionEnded (connection, seconds) {
    this.connection.record(seconds, serverOf(connection))
  }
}

/** @param {Attributes} attributes @param {string[]} names @returns {Attributes} */
function pick (attributes, names) {
  /** @type {Attributes} */
  const found = {}
  for (const name of names) if (attributes[name] !== undefined) found[name] = attributes[name]
  return found
}
