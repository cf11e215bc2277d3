/**
 * The global dispatchers before undici is loaded: where fetch was not used yet, undici replaces them when it is loaded,
 * also one that takes proxies from the environment (undici issue 5500). Import this module before undici.
 */

export const LEGACY = Symbol.for('undici.globalDispatcher.1')
export const CURRENT = Symbol.for('undici.globalDispatcher.2')

/** @returns {{legacy: any, current: any}} `legacy` is what undici up to 7 reads, `current` what undici 8 reads */
export function globalDispatchers () {
  const globals = /** @type {any} */ (globalThis)
  return { legacy: globals[LEGACY], current: globals[CURRENT] }
}

export const before = globalDispatchers()
