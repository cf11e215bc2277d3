/**
 * Options and their environment names (spec/config.yaml): code wins over environment, environment over default.
 * The environment is read once, when this module is loaded.
 */

import { invalidOption } from './errors.js'

// Bun replaces undici and node:http by modules that ignore dispatchers and sockets of others.
if (process.versions.bun !== undefined) {
  const message = 'onewrite does not run on Bun, which replaces undici and node:http: leave out the import there, or ' +
    'use Node'
  throw Object.assign(new Error(message), { name: 'UnsupportedRuntimeError', code: 'ONEWRITE_UNSUPPORTED_RUNTIME' })
}

/**
 * @typedef {object} Options
 * @property {boolean} [disabled] true: everything is stock undici or node:http; nothing is wrapped, no hook is called.
 *   Environment: `ONEWRITE_DISABLED`. Default: false.
 * @property {boolean} [nodelayDisabled] true: TCP_NODELAY is left as the base library leaves it.
 *   Environment: `ONEWRITE_NODELAY_DISABLED`. Default: false.
 * @property {boolean} [coalesceDisabled] true: writes are left as the base library makes them.
 *   Environment: `ONEWRITE_COALESCE_DISABLED`. Default: false.
 * @property {boolean} [hooksDisabled] true: no timing hook or listener is called.
 *   Environment: `ONEWRITE_HOOKS_DISABLED`. Default: false.
 * @property {boolean} [observe] true: only the hooks work; TCP_NODELAY and writes are the base library's.
 *   Environment: `ONEWRITE_OBSERVE`. Default: false.
 * @property {number} [coalesceMax] Bytes of an unfinished message that may be held until the current turn of the
 *   event loop ends; what is more is sent at once. 0 to 16384, one TLS record (RFC 8446 section 5.1).
 *   Environment: `ONEWRITE_COALESCE_MAX`. Default: 16384.
 */

/** @typedef {Readonly<Required<Options>>} Config */

const BOOLEANS = /** @type {const} */ ({
  disabled: 'ONEWRITE_DISABLED',
  nodelayDisabled: 'ONEWRITE_NODELAY_DISABLED',
  coalesceDisabled: 'ONEWRITE_COALESCE_DISABLED',
  hooksDisabled: 'ONEWRITE_HOOKS_DISABLED',
  observe: 'ONEWRITE_OBSERVE'
})
const NAMES = /** @type {(keyof typeof BOOLEANS)[]} */ (Object.keys(BOOLEANS))
/** All names of options in code. @type {ReadonlySet<string>} */
const OPTIONS = new Set([...NAMES, 'coalesceMax', 'onTiming', 'listener'])
const COALESCE_MAX = 16384
const TRUE = ['1', 'true', 'yes', 'on']
const FALSE = ['0', 'false', 'no', 'off', '']

/** @param {NodeJS.ProcessEnv} env @returns {Config} */
export function readEnvironment (env) {
  /** @type {any} */
  const config = { coalesceMax: COALESCE_MAX }
  const warn = (/** @type {string} */ name, /** @type {string} */ wanted) => {
    const message = `${name}=${JSON.stringify(env[name])} is ignored: it must be ${wanted}`
    process.emitWarning(message, { code: 'ONEWRITE_BAD_OPTION' })
  }
  for (const option of NAMES) {
    const name = BOOLEANS[option]
    const value = (env[name] ?? '').trim().toLowerCase()
    config[option] = TRUE.includes(value)
    if (!TRUE.includes(value) && !FALSE.includes(value)) warn(name, `one of ${[...TRUE, ...FALSE].join(' ').trim()}`)
  }
  const max = (env.ONEWRITE_COALESCE_MAX ?? '').trim()
  if (/^\d{1,5}$/.test(max) && Number(max) <= COALESCE_MAX) config.coalesceMax = Number(max)
  else if (max !== '') warn('ONEWRITE_COALESCE_MAX', `a whole number of bytes from 0 to ${COALESCE_MAX}`)
  return Object.freeze(config)
}

const environment = readEnvironment(process.env)

/**
 * @param {Options} [options]
 * @param {boolean} [besideOthers] the object holds options of the base library too. It may have more of them than this
 *   package has, so an unknown name is refused only without this
 * @returns {Config}
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, when an option has a value that it cannot have
 */
export function resolveConfig (options = {}, besideOthers = true) {
  /** @type {any} */
  const config = { ...environment }
  for (const option of NAMES) {
    const value = options[option]
    if (value === undefined) continue
    if (typeof value !== 'boolean') throw invalidOption(`${option} must be true or false, not ${typeof value}`)
    config[option] = value
  }
  const unknown = besideOthers ? undefined : Object.keys(options).find((name) => !OPTIONS.has(name))
  if (unknown !== undefined) throw invalidOption(`there is no option ${unknown}; there are ${[...OPTIONS].join(', ')}`)
  const max = options.coalesceMax
  if (max !== undefined) {
    if (!Number.isInteger(max) || max < 0 || max > COALESCE_MAX) {
      throw invalidOption(`coalesceMax must be a whole number of bytes from 0 to ${COALESCE_MAX}`)
    }
    config.coalesceMax = max
  }
  return config
}

/** @param {Config} config @returns {boolean} TCP_NODELAY is set */
export function setsNoDelay ({ disabled, nodelayDisabled, observe }) {
  return !disabled && !nodelayDisabled && !observe
}

/** @param {Config} config @returns {number} bytes that may be held; 0: writes are the base library's */
export function mostHeld ({ disabled, coalesceDisabled, observe, coalesceMax }) {
  return disabled || coalesceDisabled || observe ? 0 : coalesceMax
}

/**
 * A plain copy of options. What an instance of a class inherits, or has as getters, counts too.
 * @param {any} options
 * @returns {any}
 */
export function copyOf (options) {
  /** @type {any} */
  const copy = {}
  for (let from = options; from && from !== Object.prototype; from = Object.getPrototypeOf(from)) {
    for (const name of Object.getOwnPropertyNames(from)) {
      if (name !== 'constructor' && !Object.hasOwn(copy, name)) copy[name] = options[name]
    }
  }
  return copy
}

/**
 * The base library's options: the user's without ours, with others in the place of some.
 * @param {any} options @param {Record<string, unknown>} [others]
 * @returns {any}
 */
export function withoutOurs (options, others) {
  if (options === null || typeof options !== 'object') return options
  const copy = { ...copyOf(options), ...others }
  for (const name of OPTIONS) delete copy[name]
  return copy
}
