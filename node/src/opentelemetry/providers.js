/**
 * The instruments and the logger of the global providers. They are looked up again when another provider is set: a program
 * may start its SDK after it has called `openTelemetry()`, and a meter from before the SDK stays without effect.
 */

import { createRequire } from 'node:module'
import * as api from '@opentelemetry/api'
import { VERSION } from '../version.js'
import { Instruments } from './instruments.js'

const SCOPE = 'onewrite'

/** @typedef {{emit: (record: Record<string, unknown>) => void}} Logger */

/** @returns {any} the logs API: part of `@opentelemetry/api` from 1.10 on, a package of its own before; undefined without it */
function findLogs () {
  const { logs } = /** @type {any} */ (api)
  if (logs !== undefined) return logs
  try {
    return createRequire(import.meta.url)('@opentelemetry/api-logs').logs
  } catch {
    // Then there is no SDK for log events either.
    return undefined
  }
}

/** @type {{provider: import('@opentelemetry/api').MeterProvider, instruments: Instruments} | null} */
let measured = null

/** @returns {Instruments} */
export function instruments () {
  const provider = api.metrics.getMeterProvider()
  if (measured?.provider !== provider) measured = { provider, instruments: new Instruments(provider.getMeter(SCOPE, VERSION)) }
  return measured.instruments
}

const logs = findLogs()
/** @type {{provider: unknown, logger: Logger} | null} */
let logged = null

/** @returns {Logger | undefined} */
export function logger () {
  const provider = logs?.getLoggerProvider()
  if (provider !== undefined && logged?.provider !== provider) logged = { provider, logger: provider.getLogger(SCOPE, VERSION) }
  return logged?.logger
}
