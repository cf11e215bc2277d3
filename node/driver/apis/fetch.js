// The runtime's own fetch.

export const name = 'fetch'
export const types = { FormData: globalThis.FormData }

/** @param {{dispatcher?: any, redirects?: boolean}} transport no dispatcher: the global one */
export async function request (transport, { method, url, headers, body, signal, read }) {
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
  return { status: response.status, headers: [...response.headers], body: Buffer.from(await response.arrayBuffer()) }
}

export async function post (transport, url, method, body) {
  const response = await request(transport, { method, url, headers: [], body, signal: undefined, read: 'all' })
  return response.status
}
