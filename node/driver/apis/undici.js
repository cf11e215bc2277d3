// undici.request of the npm package.

import * as undici from 'undici'

export const name = 'undici'
export const types = { FormData: undici.FormData }

/** @param {{dispatcher?: import('undici').Dispatcher}} transport no dispatcher: the global one */
export async function request (transport, { method, url, headers, body, signal, read }) {
  const flat = []
  for (const [key, value] of headers) flat.push(key, value)
  const response = await undici.request(url, {
    ...(transport.dispatcher ? { dispatcher: transport.dispatcher } : null),
    method,
    headers: flat,
    body,
    signal,
    // Behind a forward proxy undici drops the pool's option for this.
    ...(transport.keepalive === false ? { reset: true } : null),
    responseHeaders: 'raw'
  })
  if (read === 'none') {
    response.body.on('error', () => {}).destroy()
    return { status: response.statusCode, headers: pairs(response.headers), body: Buffer.alloc(0) }
  }
  return { status: response.statusCode, headers: pairs(response.headers), body: Buffer.from(await response.body.arrayBuffer()) }
}

/** The shortest form, for load. */
export async function post (transport, url, method, body) {
  const response = await undici.request(url, transport.dispatcher ? { dispatcher: transport.dispatcher, method, body } : { method, body })
  await response.body.arrayBuffer()
  return response.statusCode
}

function pairs (raw) {
  if (!Array.isArray(raw)) return Object.entries(raw).flatMap(([key, value]) => Array.isArray(value) ? value.map((one) => [key, one]) : [[key, value]])
  const result = []
  for (let index = 0; index < raw.length; index += 2) result.push([String(raw[index]), String(raw[index + 1])])
  return result
}
