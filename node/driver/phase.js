// The phase in which a call without hooks failed, from undici's diagnostics channels; before a request is written, from the
// kind of the error. For node:http there is no source.

import { AsyncLocalStorage } from 'node:async_hooks'
import diagnosticsChannel from 'node:diagnostics_channel'

const calls = new AsyncLocalStorage()
/** @type {WeakMap<object, {step: string}>} */
const states = new WeakMap()
let subscribed = false

function subscribe () {
  if (subscribed) return
  subscribed = true
  diagnosticsChannel.subscribe('undici:request:create', (message) => {
    const { request } = /** @type {any} */ (message)
    const state = calls.getStore()
    // The CONNECT request for a tunnel runs in the same async context, and is not the call.
    if (state && request.method !== 'CONNECT') states.set(request, state)
  })
  const steps = { 'undici:client:sendHeaders': 'send', 'undici:request:bodySent': 'wait', 'undici:request:headers': 'receive' }
  for (const [channel, step] of Object.entries(steps)) {
    diagnosticsChannel.subscribe(channel, (message) => {
      const { request, response } = /** @type {any} */ (message)
      const state = states.get(request)
      if (state && !(response?.statusCode < 200)) state.step = step
    })
  }
}

export function phaseWatch (api) {
  if (api !== 'http') subscribe()
  const state = { step: '' }
  return {
    run: (call) => calls.run(state, call),
    at (kind) {
      if (kind === 'other' && state.step === '') return undefined
      if (state.step !== '') return state.step
      if (kind === 'dns' || kind === 'connect' || kind === 'tls') return kind
      if (kind === 'pool') return 'queue'
      return api === 'http' ? undefined : 'connect'
    }
  }
}
