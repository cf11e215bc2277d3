/**
 * For `node --import onewrite/register app.js`: the runtime's fetch goes through our Agent, and every request of
 * node:http and node:https gets TCP_NODELAY. Where undici is missing or fails to load, a warning says so, and only
 * node:http is changed.
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
