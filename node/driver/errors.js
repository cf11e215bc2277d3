// The kind of an error in the words of spec/events.yaml, as far as it shows outside the library. Not by the
// adapter's errors.js: the judge compares the two, and stock clients are driven without the adapter.

import { readFileSync } from 'node:fs'

/** Of the contract's errors, those that their code alone names. */
const { rows } = JSON.parse(readFileSync(new URL('../../spec/testdata/error_kinds.json', import.meta.url), 'utf8'))
const KINDS = new Map([['ONEWRITE_INVALID_OPTION', 'other']])
for (const { kind, node = [] } of rows) {
  for (const { code, ...rest } of node) if (Object.keys(rest).length === 0) KINDS.set(code, kind)
}

function kindOf (error) {
  // undici uses the code of a caller's abort also for a tunnel that the proxy refused.
  if (error.code === 'UND_ERR_ABORTED' && error.message.startsWith('Proxy response')) return 'connect'
  if (String(error.message).includes('before secure TLS connection')) return 'tls'
  if (error.name === 'TimeoutError') return 'timeout'
  // node:http wraps the reason of an AbortSignal.
  if (error.name === 'AbortError') return error.cause?.name === 'TimeoutError' ? 'timeout' : 'cancelled'
  if (error.name === 'HTTPParserError') return error.code === 'HPE_INVALID_EOF_STATE' ? 'closed' : 'protocol'
  const code = error.code
  if (typeof code === 'string') {
    if (error.message === 'socket hang up') return 'closed'
    if (KINDS.has(code)) return KINDS.get(code)
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
