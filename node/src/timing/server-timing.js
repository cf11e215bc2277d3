/**
 * Parses the `Server-Timing` header fields of a response (W3C Server Timing): how long a server says it took. The input is
 * bounded, and what is malformed is ignored. Rules: spec/04-timing.md; test data of all languages:
 * spec/testdata/server_timing.json.
 */

/**
 * @typedef {object} ServerTiming one entry, such as `db;dur=53.2;desc="orders"`
 * @property {string} name
 * @property {number} [durationNs] ns; 0 where the server said 0, absent where it gave none
 * @property {string} [description]
 */

const MOST_CHARACTERS = 4096
const MOST_ENTRIES = 32
const MOST_DESCRIPTION = 128
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/
const MILLISECONDS = /^(?:(\d{1,8})(?:\.(\d+))?|\.(\d+))$/
/** A day. A longer time is taken as an error. */
const MOST_NS = 86_400_000 * 1e6

const FIELD = 'server-timing'

/**
 * @param {any} headers of a response: a list of names and values in turn, strings or Buffers; or an object by lower-case
 *   name
 * @returns {string[] | null} the values of the fields, in order; null: there is none
 */
export function serverTimingFields (headers) {
  if (!Array.isArray(headers)) {
    const values = headers?.[FIELD]
    return values === undefined ? null : [values].flat()
  }
  /** @type {string[] | null} */
  let fields = null
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index]
    if (name.length !== FIELD.length || String(name).toLowerCase() !== FIELD) continue
    for (const value of [headers[index + 1]].flat()) (fields ??= []).push(typeof value === 'string' ? value : value.toString('latin1'))
  }
  return fields
}

/**
 * @param {readonly string[]} fields the values of the header fields, in order
 * @returns {ServerTiming[]}
 */
export function parseServerTiming (fields) {
  /** @type {ServerTiming[]} */
  const found = []
  let left = MOST_CHARACTERS
  for (const field of fields) {
    const entries = splitOutsideQuotes(field.slice(0, left), ',')
    // The limit cut this entry.
    if (field.length > left) entries.pop()
    for (const text of entries) {
      const entry = entryOf(text)
      if (entry === null) continue
      found.push(entry)
      if (found.length === MOST_ENTRIES) return found
    }
    left -= field.length
    if (left < 0) break
  }
  return found
}

/**
 * How much of a wait the server took, as it says itself: its entry `total`, else its longest entry.
 * @param {readonly ServerTiming[]} entries
 * @param {number | undefined} waitNs
 * @returns {number | undefined} ns; absent where it gives no duration, or one longer than the wait
 */
export function serverNsOf (entries, waitNs) {
  const total = entries.find(({ name, durationNs }) => name === 'total' && durationNs !== undefined)
  const serverNs = total?.durationNs ?? Math.max(0, ...entries.map(({ durationNs = 0 }) => durationNs))
  return serverNs === 0 || waitNs === undefined || serverNs > waitNs ? undefined : serverNs
}

/**
 * @param {string} text
 * @returns {ServerTiming | null}
 */
function entryOf (text) {
  const [first = '', ...parameters] = splitOutsideQuotes(text, ';')
  const name = trimmed(first)
  if (!NAME.test(name)) return null
  /** @type {ServerTiming} */
  const entry = { name }
  const seen = new Set()
  for (const parameter of parameters) {
    const at = parameter.indexOf('=')
    const key = trimmed(at < 0 ? parameter : parameter.slice(0, at)).toLowerCase()
    if ((key !== 'dur' && key !== 'desc') || seen.has(key)) continue
    seen.add(key)
    const value = valueOf(at < 0 ? '' : trimmed(parameter.slice(at + 1)))
    if (key === 'dur') {
      const durationNs = nanoseconds(value)
      if (durationNs !== undefined) entry.durationNs = durationNs
    } else if (value !== '') entry.description = value.slice(0, MOST_DESCRIPTION)
  }
  return entry
}

/**
 * @param {string} text
 * @param {',' | ';'} separator
 */
function splitOutsideQuotes (text, separator) {
  const parts = []
  let [start, quoted] = [0, false]
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (quoted && character === '\\') at++
    else if (character === '"') quoted = !quoted
    else if (character === separator && !quoted) {
      parts.push(text.slice(start, at))
      start = at + 1
    }
  }
  parts.push(text.slice(start))
  return parts
}

/** @param {string} text @returns {string} without spaces and tabs around it */
function trimmed (text) {
  const isBlank = (/** @type {number} */ at) => text[at] === ' ' || text[at] === '\t'
  let [start, end] = [0, text.length]
  while (start < end && isBlank(start)) start++
  while (end > start && isBlank(end - 1)) end--
  return text.slice(start, end)
}

/** @param {string} text @returns {string} the content of a quoted string; other text unchanged */
function valueOf (text) {
  if (text[0] !== '"') return text
  let content = ''
  for (let at = 1; at < text.length && text[at] !== '"'; at++) {
    if (text[at] === '\\' && at + 1 < text.length) at++
    content += text[at]
  }
  return content
}

/** @param {string} text milliseconds @returns {number | undefined} */
function nanoseconds (text) {
  const match = MILLISECONDS.exec(text)
  if (match === null) return undefined
  const fraction = (match[2] ?? match[3] ?? '').slice(0, 6).padEnd(6, '0')
  const ns = Number(match[1] ?? 0) * 1e6 + Number(fraction)
  return ns > MOST_NS ? undefined : ns
}
