/**
 * The version of undici, and the two private names of it that are used: a client's function that makes its connections,
 * and the method of a pool or client to which a request is passed after its handler was brought into one style.
 * Outside the supported range, or where a name is missing, everything stays undici's, with one warning.
 */

import * as undici from 'undici'
import { warnOnce } from './errors.js'
import { readUndiciVersion } from './undici-version.cjs'

/**
 * The ranges of the peer dependency in package.json. Below them undici waits 1 to 500 ms before it uses a kept
 * connection again (undici issues 5493, 5600, 5707). Above them its interfaces are unknown.
 * @internal
 * @param {string} version
 */
export function isInRange (version) {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  const least = { 7: [29, 1], 8: [10, 1] }[major]
  if (least === undefined) return false
  const [leastMinor = 0, leastPatch = 0] = least
  return minor > leastMinor || (minor === leastMinor && patch >= leastPatch)
}

/**
 * @internal
 * @param {any} object of any copy of undici
 * @param {string} name
 * @returns {symbol | undefined} the private property of that name, its own or of its classes
 */
export function privateSymbol (object, name) {
  for (let from = object; from; from = Object.getPrototypeOf(from)) {
    const symbol = Object.getOwnPropertySymbols(from).find(({ description }) => description === name)
    if (symbol !== undefined) return symbol
  }
  return undefined
}

/** @param {any} object @param {string} name @returns {symbol | undefined} the private method of that name */
function privateMethod (object, name) {
  const symbol = privateSymbol(object, name)
  return symbol !== undefined && typeof object[symbol] === 'function' ? symbol : undefined
}

/** @returns {any} null where undici is a mock */
function makeClient () {
  try {
    return new undici.Client('http://localhost')
  } catch {
    return null
  }
}

const version = readUndiciVersion()
const client = makeClient()
const connector = privateMethod(client, 'connector')
const dispatch = privateMethod(client, 'dispatch')
const missing = version !== '' && !isInRange(version)
  ? `it supports undici >=7.29.1 <8 and >=8.10.1 <9, and this is ${version}`
  : connector === undefined || dispatch === undefined ? 'this undici has other private names' : undefined

/** @internal */
export const kConnector = connector ?? Symbol('no connector')
/** @internal */
export const kDispatch = dispatch ?? Symbol('no dispatch')

/**
 * Within undici 8 each handler has a controller. Within undici 7 each handler is of the older style. The version may be
 * hidden by a bundle, so a name that undici 8 alone has tells them apart; bundlers refuse to import such a name.
 * @internal
 */
export const hasControllers = Reflect.has(undici, 'Dispatcher1Wrapper')

/** Of undici; version '' where it cannot be read. @internal */
export const base = { version, supported: missing === undefined }

/** @internal @returns {boolean} false, with one warning */
export function isBaseSupported () {
  if (!base.supported) warnOnce('ONEWRITE_UNSUPPORTED_BASE', `onewrite stays off: ${missing}`)
  return base.supported
}
