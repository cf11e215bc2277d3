/** Errors and warnings of this package, and the kind of any error of undici, node:http, axios and got. */

/**
 * @param {string} message
 * @returns {TypeError} code `ONEWRITE_INVALID_OPTION`
 */
export function invalidOption (message) {
  return Object.assign(new TypeError(message), { code: 'ONEWRITE_INVALID_OPTION' })
}

/** @type {Set<string>} */
const warned = new Set()

/**
 * A warning of the process, once for each code.
 * @param {string} code @param {string} message
 */
export function warnOnce (code, message) {
  if (warned.has(code)) return
  warned.add(code)
  process.emitWarning(message, { code })
}

/**
 * @typedef {'dns' | 'connect' | 'tls' | 'pool' | 'timeout' | 'reset' | 'closed' | 'protocol' | 'cancelled' | 'other'}
 *   ErrorKind
 */

/** The codes of each kind. */
const CODES = {
  dns: ['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL'],
  connect: ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL'],
  tls: ['EPROTO', 'UND_ERR_PRX_TLS'],
  pool: ['UND_ERR_CLOSED', 'UND_ERR_DESTROYED'],
  timeout: ['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'],
  reset: ['ECONNRESET'],
  closed: ['EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'HPE_INVALID_EOF_STATE'],
  protocol: ['UND_ERR_HEADERS_OVERFLOW', 'UND_ERR_RES_EXCEEDED_MAX_SIZE'],
  // The last two are those of axios and got.
  cancelled: ['UND_ERR_ABORTED', 'ABORT_ERR', 'ERR_CANCELED', 'ERR_ABORTED']
}
/** @type {Map<string, any>} */
const KINDS = new Map(Object.entries(CODES).flatMap(([kind, codes]) => codes.map((code) => [code, kind])))

/**
 * The kind of an error (spec/events.yaml). Reads `cause` and the parts of an AggregateError too. Cannot throw: a
 * program may abort with any value, also one whose every property throws.
 * @param {any} error
 * @returns {ErrorKind}
 */
export function errorKind (error) {
  try {
    for (let depth = 0; depth < 5 && error !== null && typeof error === 'object'; depth++) {
      const kind = ownKind(error)
      if (kind !== undefined) return kind
      error = error.cause ?? error.errors?.[0]
    }
  } catch {}
  return 'other'
}

/** @param {any} error @returns {ErrorKind | undefined} undefined: its cause may have a kind */
function ownKind ({ code, name, message, syscall, cause }) {
  const text = String(message)
  // The proxy refused the tunnel. undici uses for this error the code of a program's abort.
  if (code === 'UND_ERR_ABORTED' && text.startsWith('Proxy response')) return 'connect'
  // Node uses the code of a reset for a peer that closes during the handshake.
  if (code === 'ECONNRESET' && text.includes('before secure TLS connection')) return 'tls'
  if (name === 'TimeoutError') return 'timeout'
  // node:http puts the reason of an AbortSignal into `cause`.
  if (name === 'AbortError') return cause?.name === 'TimeoutError' ? 'timeout' : 'cancelled'
  if (name === 'HTTPParserError') return code === 'HPE_INVALID_EOF_STATE' ? 'closed' : 'protocol'
  if (typeof code !== 'string') return undefined
  // node:http uses ECONNRESET for a reset and for a FIN. This message means a FIN.
  if (text === 'socket hang up') return 'closed'
  // A missing Unix socket.
  if (code === 'ENOENT' && syscall === 'connect') return 'connect'
  // axios uses this code for an expired timeout. From the kernel, with a syscall, it is a reset.
  if (code === 'ECONNABORTED') return syscall === undefined ? 'timeout' : 'reset'
  if (KINDS.has(code)) return KINDS.get(code)
  if (code.startsWith('HPE_')) return 'protocol'
  return /^ERR_(TLS|SSL|OSSL)|CERT|SIGNATURE/.test(code) ? 'tls' : undefined
}
