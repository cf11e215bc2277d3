/** Errors of this package, and the kind of any error of the base libraries. */

/** @param {string} message */
export function invalidOption (message) {
  return Object.assign(new TypeError(message), { code: 'ONEWRITE_INVALID_OPTION' })
}

/**
 * @typedef {'dns' | 'connect' | 'tls' | 'pool' | 'timeout' | 'reset' | 'closed' | 'protocol' | 'cancelled' | 'other'}
 *   ErrorKind
 */

/** @type {Record<string, ErrorKind>} */
const KINDS = {
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  EAI_FAIL: 'dns',
  ECONNREFUSED: 'connect',
  EHOSTUNREACH: 'connect',
  ENETUNREACH: 'connect',
  EADDRNOTAVAIL: 'connect',
  ETIMEDOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  UND_ERR_CLOSED: 'pool',
  UND_ERR_DESTROYED: 'pool',
  ECONNRESET: 'reset',
  EPIPE: 'closed',
  EPROTO: 'tls',
  UND_ERR_SOCKET: 'closed',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'closed',
  HPE_INVALID_EOF_STATE: 'closed',
  UND_ERR_HEADERS_OVERFLOW: 'protocol',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'protocol',
  UND_ERR_PRX_TLS: 'tls',
  UND_ERR_ABORTED: 'cancelled',
  ABORT_ERR: 'cancelled',
  // Of axios and got.
  ERR_CANCELED: 'cancelled',
  ERR_ABORTED: 'cancelled'
}

/**
 * The kind of an error, as named in spec/events.yaml. Also reads `cause` and the parts of an AggregateError. Cannot
 * throw: a caller may abort with any value, also one whose every property throws.
 * @param {any} error
 * @returns {ErrorKind}
 */
export function errorKind (error) {
  try {
    for (let depth = 0; depth < 5 && error !== null && typeof error === 'object'; depth++) {
      const kind = ownKind(error)
      if (kind !== null) return kind
      error = error.cause ?? error.errors?.[0]
    }
  } catch {}
  return 'other'
}

/** @param {any} error @returns {ErrorKind | null} null: its cause may have a kind */
function ownKind (error) {
  const { code, name } = error
  const message = String(error.message)
  // The proxy refused the tunnel. undici gives this error the code of a caller's abort.
  if (code === 'UND_ERR_ABORTED' && message.startsWith('Proxy response')) return 'connect'
  // Node gives a peer that closes during the handshake the code of a reset.
  if (code === 'ECONNRESET' && message.includes('before secure TLS connection')) return 'tls'
  if (name === 'TimeoutError') return 'timeout'
  // node:http puts the reason of an AbortSignal into `cause`.
  if (name === 'AbortError') return error.cause?.name === 'TimeoutError' ? 'timeout' : 'cancelled'
  if (name === 'HTTPParserError') return code === 'HPE_INVALID_EOF_STATE' ? 'closed' : 'protocol'
  if (typeof code !== 'string') return null
  // node:http uses ECONNRESET for a reset and for a FIN. This message means a FIN.
  if (message === 'socket hang up') return 'closed'
  // axios uses this code for an expired timeout; from the kernel, with a syscall, it is a reset.
  if (code === 'ECONNABORTED') return error.syscall === undefined ? 'timeout' : 'reset'
  if (Object.hasOwn(KINDS, code)) return /** @type {ErrorKind} */ (KINDS[code])
  if (code.startsWith('HPE_')) return 'protocol'
  return /^ERR_(TLS|SSL|OSSL)|CERT|SIGNATURE/.test(code) ? 'tls' : null
}
