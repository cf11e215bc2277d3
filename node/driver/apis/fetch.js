// The runtime's own fetch.

export const name = 'fetch'
export const types = { FormData: globalThis.FormData }

/** @param {{dispatcher?: any, redirects?: boolean}} transport no dispatcher: the global one */
export async function request (transport, { method, url, headers, body, signal, read, onPiece }) {
  const response = await fetch(url, {
    ...(transport.dispatcher ? { dispatcher: transport.dispatcher } : null),
    method,
    headers,
    body,
    signal,
    redirect: transport.redirects ? 'follow' : 'manual',
    duplex: 'half'
  })
  if (read === 'none') {
    await response.body?.cancel()
    return { status: response.status, headers: [...response.headers], body: Buffer.alloc(0) }
  }
  if (onPiece && response.body) for await (const piece of response.body) onPiece(piece)
  const whole = onPiece ? [] : await response.arrayBuffer()
  return { status: response.status, headers: [...response.headers], body: Buffer.from(whole) }
}

export async function post (transport, url, method, body) {
  const response = await request(transport, { method, url, headers: [], body, signal: undefined, read: 'all' })
  return response.status
}
