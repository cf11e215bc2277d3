/** The version of undici. Outside the supported range everything stays stock, and one warning says so. */

import { createRequire } from 'node:module'

let warned = false

/** @returns {string} '' where it cannot be read, as in a bundle; such a version is taken as supported */
function readVersion () {
  try {
    return createRequire(import.meta.url)('undici/package.json').version
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

const version = readVersion()

/** Of undici; version '' where it cannot be read. */
export const base = { version, supported: version === '' || isSupported(version) }

/** @returns {boolean} false with one warning, the first time it is asked */
export function baseIsSupported () {
  if (!base.supported && !warned) {
    warned = true
    process.emitWarning(
      `onewrite stays off: it supports undici >=7.29.1 <8 and >=8.10.1 <9, and this is ${version}`, { code: 'ONEWRITE_UNSUPPORTED_BASE' })
  }
  return base.supported
}
