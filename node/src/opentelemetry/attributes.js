/** A timing record as attributes of OpenTelemetry, without a dependency on it. */

/** @typedef {import('../timing/record.js').Timing} Timing */

/**
 * Attributes of an HTTP client span (OpenTelemetry semantic conventions for HTTP, stable names).
 * `error.type` is the error kind, or the status as text from 400 on. `http.request.resend_count` is present after a
 * retry or a redirect.
 * @param {Timing} timing
 * @returns {Record<string, string | number>}
 */
export function otelAttributes (timing) {
  const { method, url: full, status, attempts, errorKind } = timing
  /** @type {Record<string, string | number>} */
  const attributes = { 'http.request.method': method, 'url.full': full }
  const url = URL.canParse(full) ? new URL(full) : null
  if (url !== null) {
    attributes['server.address'] = url.hostname.replace(/^\[|\]$/g, '')
    attributes['server.port'] = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
  }
  if (status !== undefined) attributes['http.response.status_code'] = status
  if (attempts.length > 1) attributes['http.request.resend_count'] = attempts.length - 1
  if (errorKind !== undefined) attributes['error.type'] = errorKind
  else if (status !== undefined && status >= 400) attributes['error.type'] = String(status)
  return attributes
}

const OF_ATTEMPT = /** @type {const} */ (['queueNs', 'dnsNs', 'connectNs', 'tlsNs', 'sendNs', 'waitNs', 'receiveNs',
  'reused', 'connId', 'connRequests', 'proxy'])

/**
 * What the semantic conventions have no name for, under names of this package: the phases of the last attempt, its
 * connection, the number of attempts, and the duration of the call. Times are in ns. What is absent in the record is
 * absent here.
 * @param {Timing} timing
 * @returns {Record<string, string | number | boolean>}
 */
export function otelPhases (timing) {
  const { last } = timing
  /** @type {Record<string, string | number | boolean>} */
  const attributes = {}
  for (const name of OF_ATTEMPT) {
    const value = last?.[name]
    const key = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    if (value !== undefined) attributes[`onewrite.${key}`] = value
  }
  attributes['onewrite.total_ns'] = timing.totalNs
  attributes['onewrite.attempts'] = timing.attempts.length
  return attributes
}
