/** Removes credentials and secrets from URLs in records (spec/testdata/redaction.json). */

/** A value is removed when one of them is a word of its key. */
const SECRET = new Set(['sig', 'signature', 'token', 'secret', 'password', 'passwd', 'pwd', 'credential', 'credentials',
  'auth', 'authorization', 'jwt', 'hmac', 'key', 'apikey'])
/** Between words: what is no ASCII letter or digit, `aB`, and before the last capital of `ABc`. */
const BETWEEN_WORDS = /[^A-Za-z\d]+|(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/
/** Scheme and slashes. As URL parsers do, it accepts backslashes as slashes, and for http any number of them. */
const BEFORE_AUTHORITY = /^\s*(?:https?:[/\\]*|(?:[a-z][a-z\d+.-]*:)?[/\\]{2})/i

/**
 * @param {string} origin
 * @param {string} path a whole URL for a proxy that forwards, `host:port` for one that tunnels
 * @returns {string} the URL of a request, without secrets
 */
export function urlOf (origin, path) {
  const isWhole = /^https?:\/\//.test(path)
  const url = isWhole ? path : path === '' || path.startsWith('/') ? origin + path : `${origin}/${path}`
  // The parts are searched, because V8 copies them together to search the whole.
  return path.includes('?') || path.includes('@') || origin.includes('@') ? redactUrl(url) : url
}

/** @param {string} url @returns {string} */
export function redactUrl (url) {
  if (url.includes('@')) url = withoutUser(url)
  return url.includes('?') ? withoutSecrets(url) : url
}

/** @param {string} url */
function withoutUser (url) {
  const start = BEFORE_AUTHORITY.exec(url)?.[0].length ?? 0
  // It is a path.
  if (start === 0 && /^\s*[/\\]/.test(url)) return url
  const length = url.slice(start).search(/[/\\?#]/)
  const end = length < 0 ? url.length : start + length
  const at = url.lastIndexOf('@', end - 1)
  if (at >= start) return url.slice(0, start) + url.slice(at + 1)
  // Where the port should be is something else: a password that contains a separator.
  if (!/:(?!\d*$)/.test(url.slice(start, end).replace(/^\[[^\]]*\]/, ''))) return url
  return url.slice(0, start) + url.slice(url.lastIndexOf('@') + 1)
}

/** @param {string} url */
function withoutSecrets (url) {
  const fragment = url.indexOf('#')
  const end = fragment < 0 ? url.length : fragment
  const query = url.indexOf('?')
  if (query > end) return url
  const pairs = url.slice(query + 1, end).split('&').map(withoutSecret).join('&')
  return `${url.slice(0, query)}?${pairs}${url.slice(end)}`
}

/** @param {string} pair */
function withoutSecret (pair) {
  const equals = pair.indexOf('=')
  if (equals < 0) return pair
  const words = decoded(pair.slice(0, equals)).split(BETWEEN_WORDS)
  return words.some((word) => SECRET.has(word.toLowerCase())) ? `${pair.slice(0, equals)}=REDACTED` : pair
}

/** @param {string} key @returns {string} with an escape that is not valid as it is */
function decoded (key) {
  return key.replaceAll('+', ' ').replace(/(?:%[\da-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes)
    } catch {
      return escapes.replace(/%([0-7][\da-f])/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
    }
  })
}
