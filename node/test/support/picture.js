// A picture of the process: what own properties the objects have that can be reached from the globals, from Node's modules and
// from undici, by name and identity; listeners and channels. Two pictures are compared by difference, so the test sees also what
// nobody thought of.

import diagnosticsChannel from 'node:diagnostics_channel'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const CHANNELS = ['undici:client:beforeConnect', 'undici:client:connected', 'undici:client:connectError', 'undici:client:sendHeaders',
  'undici:request:create', 'undici:request:bodySent', 'undici:request:headers', 'undici:request:trailers', 'undici:request:error', 'undici:proxy:connected',
  'http.client.request.created', 'http.client.request.start', 'http.client.request.error', 'http.client.response.finish',
  'http.server.request.start', 'http.server.response.finish', 'net.client.socket', 'net.server.socket']
const MODULES = ['net', 'tls', 'http', 'https', 'http2', 'stream', 'events', 'async_hooks', 'timers', 'diagnostics_channel', 'dns', 'buffer', 'url', 'util', 'perf_hooks', 'module']
/** Caches of the loader, and what each import adds to them. */
const LEFT_OUT = new Set(['_cache', '_pathCache', 'mainModule', 'moduleLoadList', 'env', 'report', 'memory'])
const DEPTH = 5

const ids = new WeakMap()
let lastId = 0
const isObject = (value) => typeof value === 'function' || (typeof value === 'object' && value !== null)
function idOf (value) {
  if (!isObject(value)) return typeof value
  if (!ids.has(value)) ids.set(value, ++lastId)
  return ids.get(value)
}

/** @param {Record<string, any>} [more] other objects, by name @returns {Map<string, string>} path → what is there */
export function picture (more = {}) {
  const seen = new Set()
  const all = new Map()
  /** @type {[string, any, number][]} */
  const queue = [['globalThis', globalThis, 0], ['process', process, 0], ...Object.entries(more).map(([name, object]) => /** @type {[string, any, number]} */ ([name, object, 0]))]
  for (const name of MODULES) queue.push([name, require(name), 0])
  // Breadth first, so that an object has its shortest path.
  for (const [path, object, depth] of queue) {
    if (seen.has(object)) continue
    seen.add(object)
    all.set(`${path} extends`, idOf(Object.getPrototypeOf(object)))
    for (const key of Reflect.ownKeys(object)) {
      if (LEFT_OUT.has(/** @type {any} */ (key))) continue
      const at = `${path}.${String(key)}`
      const { value, get, set, writable, enumerable } = /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(object, key))
      all.set(at, [idOf(value), idOf(get), idOf(set), writable, enumerable].join(' '))
      for (const next of [value, get, set]) if (isObject(next) && depth < DEPTH && !ArrayBuffer.isView(next)) queue.push([at, next, depth + 1])
    }
  }
  for (const name of process.eventNames()) all.set(`listeners of process ${String(name)}`, process.listenerCount(name))
  for (const name of CHANNELS) all.set(`channel ${name}`, diagnosticsChannel.hasSubscribers(name))
  return all
}

/** @param {Map<string, any>} before @param {Map<string, any>} after @returns {string[]} paths that differ */
export function difference (before, after) {
  return [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path)).sort()
}

/** Own properties of an object of others, and its listeners. */
export function propertiesOf (object) {
  const keys = Reflect.ownKeys(object)
  return {
    enumerable: keys.filter((key) => Object.prototype.propertyIsEnumerable.call(object, key)).map(String),
    hidden: keys.filter((key) => !Object.prototype.propertyIsEnumerable.call(object, key)).map(String)
  }
}

export async function collect () {
  for (let round = 0; round < 8; round++) {
    /** @type {any} */ (globalThis).gc()
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
