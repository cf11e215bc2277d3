// Names an error in the words of spec/events.yaml, as well as can be told from outside the library. Not by the adapter's own
// errors.js: the judge holds one against the other, and stock clients are driven without the adapter.

const KINDS = {
  ONEWRITE_INVALID_REQUEST: 'invalid_request',
  ONEWRITE_INVALID_OPTION: 'invalid_request',
  UND_ERR_INVALID_ARG: 'invalid_request',
  UND_ERR_NOT_SUPPORTED: 'invalid_request',
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: 'invalid_request',
  ERR_INVALID_CHAR: 'invalid_request',
  ERR_INVALID_HTTP_TOKEN: 'invalid_request',
  ERR_UNESCAPED_CHARACTERS: 'invalid_request',
  ERR_HTTP_INVALID_HEADER_VALUE: 'invalid_request',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
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
  UND_ERR_HEADERS_OVERFLOW: 'protocol',
  UND_ERR_ABORTED: 'cancelled',
  ABORT_ERR: 'cancelled'
}

function kindOf (error) {
  // undici names a tunnel that the proxy refused like a caller's abort.
  if (error.code === 'UND_ERR_ABORTED' && error.message.startsWith('Proxy response')) return 'connect'
  if (String(error.message).includes('before secure TLS connection')) return 'tls'
  // fetch's word for what it could not do always has a cause; without one it is about its arguments.
  if (error instanceof TypeError && error.code === undefined && error.cause === undefined) return 'invalid_request'
  if (error.name === 'TimeoutError') return 'timeout'
  // node:http wraps the reason of an AbortSignal.
  if (error.name === 'AbortError') return error.cause?.name === 'TimeoutError' ? 'timeout' : 'cancelled'
  if (error.name === 'HTTPParserError') return error.code === 'HPE_INVALID_EOF_STATE' ? 'closed' : 'protocol'
  const code = error.code
  if (typeof code === 'string') {
    if (error.message === 'socket hang up') return 'closed'
    if (Object.hasOwn(KINDS, code)) return KINDS[code]
    if (code.startsWith('HPE_')) return code === 'HPE_INVALID_EOF_STATE' ? 'closed' : 'protocol'
    if (code.startsWith('ERR_TLS') || code.startsWith('ERR_SSL') || code.includes('CERT') || code.includes('SIGNATURE')) return 'tls'
  }
  return null
}

/** @returns {{kind: string, type: string, also: string[], message: string, phase?: string}} */
export function describeError (error) {
  let kind = null
  let inner = error
  for (let depth = 0; depth < 5 && inner instanceof Object && kind === null; depth++) {
    kind = kindOf(inner)
    inner = inner.cause ?? inner.errors?.[0]
  }
  const also = []
  for (let proto = Object.getPrototypeOf(error); proto && proto !== Object.prototype; proto = Object.getPrototypeOf(proto)) {
    also.push(proto.constructor.name)
  }
  return { kind: kind ?? 'other', type: error?.constructor?.name ?? typeof error, also, message: String(error?.message ?? error) }
}
