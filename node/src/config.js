/**
 * Options and their environment names (spec/config.yaml): code wins over environment, environment over default.
 * The environment is read once, when this module is loaded.
 */

import { UnsupportedRuntimeError } from './errors.js'

// Bun replaces undici and node:http by modules that ignore dispatchers and sockets of others.
if (process.versions.bun !== undefined) {
  throw new UnsupportedRuntimeError('onewrite does not run on Bun, which replaces undici and node:http: leave out the import there, or use Node')
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
 * @property {number} [coalesceMax] Bytes of an unfinished message that may be held until the current turn of the
 *   event loop ends; what is more is sent at once. 0 to 16384, one TLS record (RFC 8446 section 5.1).
 *   Environment: `ONEWRITE_COALESCE_MAX`. Default: 16384.
 */

/** @typedef {Readonly<Required<Options>>} Config */

/** Each option's name in code, and in the environment where it has one there. */
const OPTIONS = /** @type {const} */ ({
  disabled: 'ONEWRITE_DISABLED',
  nodelayDisabled: 'ONEWRITE_NODELAY_DISABLED',
  coalesceDisabled: 'ONEWRITE_COALESCE_DISABLED',
  hooksDisabled: 'ONEWRITE_HOOKS_DISABLED',
  coalesceMax: 'ONEWRITE_COALESCE_MAX',
  onTiming: null,
  listener: null
})

/** @type {ReadonlySet<string>} */
const OPTION_NAMES = new Set(Object.keys(OPTIONS))
const BOOLEANS = /** @type {const} */ (['disabled', 'nodelayDisabled', 'coalesceDisabled', 'hooksDisabled'])
const COALESCE_MAX = 16384
const TRUE = ['1', 'true', 'yes', 'on']
const FALSE = ['0', 'false', 'no', 'off', '']

/**
 * @param {string} name
 * @param {string} value
 * @param {string} wanted
 */
function warnBadValue (name, value, wanted) {
  process.emitWarning(`${name}=${JSON.stringify(value)} is ignored: it must be ${wanted}`, { code: 'ONEWRITE_BAD_OPTION' })
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {Config}
 */
export function readEnvironment (env) {
  const config = { disabled: false, nodelayDisabled: false, coalesceDisabled: false, hooksDisabled: false, coalesceMax: COALESCE_MAX }
  for (const option of BOOLEANS) {
    const name = OPTIONS[option]
    const value = (env[name] ?? '').toLowerCase()
    if (TRUE.includes(value)) config[option] = true
    else if (!FALSE.includes(value)) warnBadValue(name, env[name] ?? '', `one of ${TRUE.join(' ')}, or of ${FALSE.join(' ').trim()}`)
  }
  const max = env[OPTIONS.coalesceMax] ?? ''
  if (max !== '') {
    if (/^\d{1,5}$/.test(max) && Number(max) <= COALESCE_MAX) config.coalesceMax = Number(max)
    else warnBadValue(OPTIONS.coalesceMax, max, `a whole number of bytes from 0 to ${COALESCE_MAX}`)
  }
  return Object.freeze(config)
}

const environment = readEnvironment(process.env)

/**
 * @param {Options} [options]
 * @param {boolean} [besideOthers] the object holds options of the base library too
 * @returns {Config}
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, when an option has a value that it cannot have
 */
export function resolveConfig (options = {}, besideOthers = true) {
  /** @type {any} */
  const config = { ...environment }
  for (const option of BOOLEANS) {
    const value = options[option]
    if (value === undefined) continue
    if (typeof value !== 'boolean') throw invalidOption(`${option} must be true or false, not ${typeof value}`)
    config[option] = value
  }
  refuseUnknown(options, besideOthers)
  const max = options.coalesceMax
  if (max !== undefined) {
    if (!Number.isInteger(max) || max < 0 || max > COALESCE_MAX) {
      throw invalidOption(`coalesceMax must be a whole number of bytes from 0 to ${COALESCE_MAX}`)
    }
    config.coalesceMax = max
  }
  return config
}

/** Without case and underscores, in which spellings differ. @param {string} name */
const plain = (name) => name.toLowerCase().replaceAll('_', '')

/**
 * @param {string} name
 * @returns {string | undefined} our option that was probably meant: at most two letters are other
 */
function nearest (name) {
  return [...OPTION_NAMES].find((ours) => distance(plain(ours), plain(name)) <= 2)
}

/** Letters to put in, to leave out or to change (Levenshtein). @param {string} from @param {string} to */
function distance (from, to) {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (const [index, letter] of [...from].entries()) {
    const above = row
    row = [index + 1]
    for (let at = 0; at < to.length; at++) {
      row.push(Math.min(Number(above[at]) + (letter === to[at] ? 0 : 1), Number(above[at + 1]) + 1, Number(row[at]) + 1))
    }
  }
  return Number(row.at(-1))
}

/**
 * Refuses a name that is nearly one of ours. Any other in the object may be an option of undici, net or tls, also of a
 * version to come; they ignore names that they do not have.
 * @param {object} options
 * @param {boolean} besideOthers the object holds options of the base library too
 */
function refuseUnknown (options, besideOthers) {
  for (const name of Object.keys(options)) {
    if (OPTION_NAMES.has(name)) continue
    const meant = nearest(name)
    if (meant !== undefined) throw invalidOption(`there is no option ${name}; did you mean ${meant}?`)
    if (plain(name) === 'quickack') throw invalidOption('there is no option quickack: Node gives no access to TCP_QUICKACK')
    if (!besideOthers) throw invalidOption(`there is no option ${name}; there are ${[...OPTION_NAMES].join(', ')}`)
  }
}

/** @param {string} message */
export function invalidOption (message) {
  return Object.assign(new TypeError(message), { code: 'ONEWRITE_INVALID_OPTION' })
}

/**
 * The base library's options without ours.
 * @template {object} T
 * @param {T} options
 * @returns {any}
 */
export function withoutOurs (options) {
  const rest = /** @type {any} */ ({ ...options })
  for (const name of OPTION_NAMES) delete rest[name]
  for (const symbol of Object.getOwnPropertySymbols(rest)) delete rest[symbol]
  return rest
}
