/**
 * An EnvHttpProxyAgent that the program has made. Ours has the same options, which undici keeps under private names.
 * The program's chooses the proxy of each request, because its NO_PROXY is not visible.
 */

import { privateSymbol } from '../base-version.js'
import { kBase } from './dispatch.js'
import { EnvHttpProxyAgent } from './proxy-agent.js'

/** The private names of an EnvHttpProxyAgent under which it has its agents. */
const AGENTS = ['no proxy agent', 'http proxy agent', 'https proxy agent']

const secret = (object, name) => object[privateSymbol(object, name) ?? '']

/**
 * @param {any} theirs an EnvHttpProxyAgent of undici
 * @param {(agent: any) => boolean} isPlain whether an Agent makes its clients as undici does
 * @returns {import('./global.js').Place | undefined} undefined where its options cannot be read
 */
export function placeOfProgram (theirs, isPlain) {
  const [direct, http, https] = AGENTS.map((name) => secret(theirs, name))
  if (!isPlain(direct)) return undefined
  const { maxOrigins, ...rest } = secret(direct, 'options')
  const options = { ...rest, ...(maxOrigins === Infinity ? null : { maxOrigins }) }
  for (const [name, agent] of [['httpProxy', http], ['httpsProxy', https]]) {
    const given = secret(agent, 'proxy agent options')
    if (agent !== direct && given === undefined) return undefined
    // Not absent: the environment may have changed since.
    options[name] = agent === direct ? '' : given.uri
    // The default differs: undici 7 tunnels plain HTTP, undici 8 forwards it.
    if (agent !== direct) options.proxyTunnel = secret(agent, 'tunnel proxy') === true
    // undici copies the options of an Agent as JSON, which loses certificates.
    for (const [key, description] of [['requestTls', 'request tls settings'], ['proxyTls', 'proxy tls settings']]) {
      const tls = secret(agent, description)
      if (tls !== undefined) options[String(key)] = tls
    }
  }
  return { Class: choosingAs(theirs), options }
}

/** @returns {typeof EnvHttpProxyAgent} whose requests take the agent in the place of the one that `theirs` chooses */
function choosingAs (theirs) {
  const symbols = AGENTS.map((name) => privateSymbol(theirs, name) ?? '')
  const none = () => {}
  const probe = { onRequestStart: none, onResponseError: none, onConnect: none, onError: none }
  return class extends EnvHttpProxyAgent {
    #own

    constructor (options) {
      super(options)
      this.#own = AGENTS.map((name) => secret(this, name))
    }

    [kBase] (opts, handler) {
      /** @type {any} */
      let chosen
      const before = symbols.map((symbol) => theirs[symbol])
      try {
        symbols.forEach((symbol, index) => { theirs[symbol] = { dispatch: () => { chosen = this.#own[index] } } })
        theirs.dispatch({ origin: opts?.origin, path: '/', method: 'GET' }, probe)
      } finally {
        symbols.forEach((symbol, index) => { theirs[symbol] = before[index] })
      }
      return chosen !== undefined
        ? chosen.dispatch(opts, handler)
        : /** @type {any} */ (EnvHttpProxyAgent.prototype)[kBase].call(this, opts, handler)
    }
  }
}
