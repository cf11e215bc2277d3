/** The base library's version. Outside the supported range everything stays stock, and one warning says so. */

import { createRequire } from 'node:module'

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

/** undici 7 tells handlers of the older style alone that a request was sent, later ones tell all. @returns {boolean} */
export function tellsControllersOfSent () {
  tells ??= !undiciVersion().startsWith('7.')
  return tells
}

/** @type {boolean | undefined} */
let tells

/** @returns {string} '' where it cannot be read, as in a bundle; then it is taken for supported */
function undiciVersion () {
  try {
    return createRequire(import.meta.url)('undici/package.json').version
  } catch {
    return ''
  }
}

/**
 * Whether all options of this undici are known to options.js, which was read beside 7.30 and 8.12.
 * @returns {boolean}
 */
export function baseIsKnown () {
  const [major = 0, minor = 0] = undiciVersion().split('.').map(Number)
  return (major === 7 && minor <= 30) || (major === 8 && minor <= 12)
}

/** @returns {{version: string, supported: boolean}} version '' where it cannot be read */
export function baseStatus () {
  const version = undiciVersion()
  return { version, supported: version === '' || isSupported(version) }
}

let warned = false

/** @returns {boolean} */
export function baseIsSupported () {
  supported ??= baseStatus().supported
  if (!supported && !warned) {
    warned = true
    process.emitWarning(
      `onewrite stays off: it supports undici >=7.29.1 <8 and >=8.10.1 <9, and this is ${undiciVersion()}`, { code: 'ONEWRITE_UNSUPPORTED_BASE' })
  }
  return supported
}

/** @type {boolean | undefined} */
let supported
