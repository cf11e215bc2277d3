/**
 * The version of undici, and the private names of it that are used. Outside the supported range, or where such a name
 * is missing, everything stays stock, and one warning says so.
 */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import * as undici from 'undici'

/** @returns {string} '' where it cannot be read, as in a bundle; such a version is taken as supported */
function readVersion () {
  try {
    // Not by require(), which would keep it in its cache.
    return JSON.parse(readFileSync(createRequire(import.meta.url).resolve('undici/package.json'), 'utf8')).version
  } catch {
    return ''
  }
}

/**
 * The ranges of the peer dependency in package.json. Below them undici waits 1 to 500 ms before it uses a kept
 * connection again (undici issues 5493, 5600, 5707); above them the factory and handler interfaces are unknown.
 * @param {string} version
 */
export function isSupported (version) {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  const least = major === 7 ? [29, 1] : major === 8 ? [10, 1] : null
  if (least === null) return false
  const [leastMinor = 0, leastPatch = 0] = least
  return minor > leastMinor || (minor === leastMinor && patch >= leastPatch)
}

/**
 * @param {object} dispatcher of any copy of undici
 * @param {string} name
 * @returns {symbol | undefined} its private property of that name
 */
export function privateSymbol (dispatcher, name) {
  return Object.getOwnPropertySymbols(dispatcher).find((symbol) => symbol.description === name)
}

/** Under it a client has the function that makes its connections. @returns {symbol | undefined} */
function findConnector () {
  const client = /** @type {any} */ (new undici.Client('http://localhost'))
  const symbol = privateSymbol(client, 'connector')
  return symbol !== undefined && typeof client[symbol] === 'function' ? symbol : undefined
}

const version = readVersion()
const missing = version !== '' && !isSupported(version)
  ? `it supports undici >=7.29.1 <8 and >=8.10.1 <9, and this is ${version}`
  : findConnector() === undefined ? 'clients of this undici have no connector' : undefined

/** Of undici; version '' where it cannot be read. */
export const base = { version, supported: missing === undefined, missing }

/** Where a client of undici has its connector. */
export const kConnector = findConnector() ?? Symbol('no connector')

/**
 * undici 8 calls `onRequestSent` of handlers with a controller, undici 7 only of handlers of the older style. Its
 * version may be hidden by a bundle, so a name that undici 8 alone has tells them apart; bundlers refuse to import such
 * a name.
 */
export const callsControllersWhenSent = Reflect.has(undici, 'Dispatcher1Wrapper')

let warned = false

/** @returns {boolean} false with one warning, the first time */
export function baseIsSupported () {
  if (!base.supported && !warned) {
    warned = true
    process.emitWarning(`onewrite stays off: ${missing}`, { code: 'ONEWRITE_UNSUPPORTED_BASE' })
  }
  return base.supported
}
