/** Removes credentials and the signatures of signed URLs from URLs in records (spec/testdata/redaction.json). */

/** The keys that OpenTelemetry's conventions for `url.full` list. */
const SIGNATURES = /([?&](?:AWSAccessKeyId|Signature|sig|X-Goog-Signature)=)[^&#]*/g
/** Scheme and slashes. As URL parsers do, it accepts backslashes as slashes, and for http any number of them. */
const BEFORE_AUTHORITY = /^\s*(?:https?:[/\\]*|(?:[a-z][a-z\d+.-]*:)?[/\\]{2})/i

/**
 * @param {string} origin
 * @param {string | undefined} path a whole URL for a proxy that forwards, `host:port` for one that tunnels
 */
export function urlOf (origin, path = '') {
  if (path === '' || path.startsWith('/')) return origin + path
  return /^https?:\/\//.test(path) ? path : `${origin}/${path}`
}

/** @param {string} url @returns {string} */
export function redactUrl (url) {
  if (url.includes('@')) url = withoutUser(url)
  return url.includes('?') ? withoutSignatures(url) : url
}

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

function withoutSignatures (url) {
  const fragment = url.indexOf('#')
  const end = fragment < 0 ? url.length : fragment
  const query = url.indexOf('?')
  if (query > end) return url
  return url.slice(0, query) + url.slice(query, end).replace(SIGNATURES, '$1REDACTED') + url.slice(end)
}
