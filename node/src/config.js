/**
 * The options and their environment names (spec/config.yaml): code wins over environment, environment over default.
 * The environment is read once, when this module is loaded.
 */

import { invalidOption, warnOnce } from './errors.js'

/** @typedef {import('./timing/record.js').TimingRecord} TimingRecord */
/** @typedef {(record: TimingRecord) => unknown} Hook */

/**
 * @typedef {object} Options
 * @property {boolean} [disabled] true: everything is undici's or Node's own, and no hook is called.
 *   Environment: `ONEWRITE_DISABLED`. Default: false.
 * @property {boolean} [observe] true: only the hook works; TCP_NODELAY and writes are the base library's.
 *   Environment: `ONEWRITE_OBSERVE`. Default: false.
 * @property {Hook | null} [onTiming] called with the record of each request, when the request is over and its
 *   connection is free or closed
 */

/**
 * @typedef {object} Config
 * @property {boolean} disabled
 * @property {boolean} observe
 * @property {Hook[]} hooks
 */

const NAMES = /** @type {const} */ ({ disabled: 'ONEWRITE_DISABLED', observe: 'ONEWRITE_OBSERVE' })
/** Not to be passed on. */
const OURS = new Set([...Object.keys(NAMES), 'onTiming', 'constructor'])
const TRUE = ['1', 'true', 'yes', 'on']
const FALSE = ['0', 'false', 'no', 'off', '']

/**
 * Under this name `install()` passes the hooks of all its calls to its Agent, instead of `onTiming`.
 * @internal
 */
export const kHooks = Symbol('onewrite hooks')

// Bun replaces undici and node:http by modules that ignore dispatchers and sockets of others.
const isBun = process.versions.bun !== undefined
const environment = readEnvironment(process.env)

/** @internal @param {NodeJS.ProcessEnv} env */
export function readEnvironment (env) {
  /** @type {any} */
  const config = {}
  for (const [option, name] of Object.entries(NAMES)) {
    const value = (env[name] ?? '').trim().toLowerCase()
    config[option] = TRUE.includes(value)
    if (TRUE.includes(value) || FALSE.includes(value)) continue
    const wanted = [...TRUE, ...FALSE].join(' ').trim()
    const message = `${name}=${JSON.stringify(env[name])} is ignored: it must be one of ${wanted}`
    process.emitWarning(message, { code: 'ONEWRITE_BAD_OPTION' })
  }
  return config
}

/**
 * @param {any} [options] ours, and any of the base library
 * @returns {Config}
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, when one of ours has a value that it cannot have
 */
export function readOptions (options) {
  const config = { ...environment, hooks: options?.[kHooks] ?? [] }
  for (const name of /** @type {const} */ (['disabled', 'observe'])) {
    const value = options?.[name]
    if (value === undefined) continue
    if (typeof value !== 'boolean') throw invalidOption(`${name} must be true or false, not ${typeof value}`)
    config[name] = value
  }
  const hook = options?.onTiming ?? null
  if (hook !== null) {
    if (typeof hook !== 'function') throw invalidOption(`onTiming must be a function, not ${typeof hook}`)
    config.hooks = [hook]
  }
  if (isBun) {
    warnOnce('ONEWRITE_UNSUPPORTED_RUNTIME', 'onewrite stays off on Bun, which replaces undici and node:http')
    config.disabled = true
  }
  if (config.disabled) config.hooks = []
  return config
}

/**
 * @param {any} options undici reads those that an instance of a class inherits, or has as getters, too
 * @param {Record<string, unknown>} [others] that replace some
 * @returns {any} a plain copy without ours
 */
export function withoutOurs (options, others) {
  /** @type {any} */
  const copy = {}
  for (let from = options; from && from !== Object.prototype; from = Object.getPrototypeOf(from)) {
    for (const name of Object.getOwnPropertyNames(from)) {
      if (!OURS.has(name) && !Object.hasOwn(copy, name)) copy[name] = options[name]
    }
  }
  return { ...copy, ...others }
}
