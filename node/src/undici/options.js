/**
 * Refuses unknown options. Ours and undici's are given in one object, and undici ignores a name that it does not know, so
 * a misspelt option would have no effect and no error.
 */

import { baseIsKnown } from '../base-version.js'
import { invalidOption, OPTION_NAMES } from '../config.js'

/**
 * What the constructors of undici 7.30 and 8.12 read (lib/dispatcher/{agent,pool,client,proxy-agent}.js), with the removed
 * options for which Client names the replacement.
 */
const UNDICIS = [
  'allowH2', 'autoSelectFamily', 'autoSelectFamilyAttemptTimeout', 'bodyTimeout', 'clientTtl', 'connect', 'connectTimeout',
  'connectionWindowSize', 'connections', 'eventSource', 'factory', 'h2Options', 'headersTimeout', 'idleTimeout',
  'initialWindowSize', 'interceptors', 'keepAlive', 'keepAliveMaxTimeout', 'keepAliveTimeout', 'keepAliveTimeoutThreshold',
  'localAddress', 'maxCachedSessions', 'maxConcurrentStreams', 'maxHeaderSize', 'maxKeepAliveTimeout', 'maxOrigins',
  'maxRedirections', 'maxRequestsPerClient', 'maxResponseSize', 'pingInterval', 'pipelining', 'requestTimeout', 'socketPath',
  'socketTimeout', 'strictContentLength', 'throwOnError', 'tls', 'useH2c', 'useMilo', 'webSocket',
  // Of BalancedPool, which passes them to its factory.
  'errorPenalty', 'maxWeightPerServer',
  // Of ProxyAgent.
  'auth', 'clientFactory', 'headers', 'proxyTls', 'proxyTunnel', 'requestTls', 'token', 'uri'
]

const all = new Set([...OPTION_NAMES, ...UNDICIS])

/**
 * @param {object} options
 * @param {boolean} besideUndicis the object holds undici's options too. With an undici newer than the list above, unknown
 *   names are accepted.
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, which names the option
 */
export function refuseUnknown (options, besideUndicis) {
  if (besideUndicis && !baseIsKnown()) return
  const known = besideUndicis ? all : OPTION_NAMES
  for (const name of Object.keys(options)) {
    if (!known.has(name)) throw invalidOption(`there is no option ${name}`)
  }
}
