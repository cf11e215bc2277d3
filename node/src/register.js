/**
 * For `node --import onewrite/register app.js`: the runtime's fetch through our Agent, TCP_NODELAY on every request of
 * node:http and node:https. Without undici, or with one that cannot serve this runtime's fetch, the second half alone.
 */

import { guardNodeHttp } from './http/guard.js'

guardNodeHttp()

try {
  const { install } = await import('./index.js')
  install()
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error)
  process.emitWarning(`onewrite/register leaves fetch as it is: ${reason}`, { code: 'ONEWRITE_FETCH_NOT_INSTALLED' })
}
