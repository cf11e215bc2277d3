/** Origins in the forms that undici takes. */

/** @param {any} url its parts @returns {string} `host:port`, by default the port of the scheme */
export function peerOf ({ protocol, hostname, port }) {
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}

/**
 * The origin of a Pool or Client, in any of the forms that undici takes (undici lib/core/util.js, parseURL).
 * @param {any} url that undici has accepted
 * @returns {string}
 */
export function originOf (url) {
  if (url instanceof URL) return url.origin
  const { protocol, hostname, port } = url
  const text = typeof url === 'string' ? url : url.origin ?? `${protocol}//${hostname}${port ? `:${port}` : ''}`
  return /^[^/]*\/\/[^/?#\\]+/.exec(text)?.[0] ?? new URL(text).origin
}
