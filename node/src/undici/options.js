/**
 * The options of undici's dispatchers, beside which ours stand in one object. An option that nobody has would be lost
 * without a word: here it is refused by its name.
 */

import { baseIsKnown } from '../base-version.js'
import { invalidOption, OPTION_NAMES } from '../config.js'

/**
 * What the constructors of undici 7.30 and 8.12 read (lib/dispatcher/{agent,pool,client,proxy-agent}.js), with those that
 * Client reads only to say what has taken their place.
 */
const UNDICIS = [
  'allowH2', 'autoSelectFamily', 'autoSelectFamilyAttemptTimeout', 'bodyTimeout', 'clientTtl', 'connect', 'connectTimeout',
  'connectionWindowSize', 'connections', 'eventSource', 'factory', 'h2Options', 'headersTimeout', 'idleTimeout',
  'initialWindowSize', 'interceptors', 'keepAlive', 'keepAliveMaxTimeout', 'keepAliveTimeout', 'keepAliveTimeoutThreshold',
  'localAddress', 'maxCachedSessions', 'maxConcurrentStreams', 'maxHeaderSize', 'maxKeepAliveTimeout', 'maxOrigins',
  'maxRedirections', 'maxRequestsPerClient', 'maxResponseSize', 'pingInterval', 'pipelining', 'requestTimeout', 'socketPath',
  'socketTimeout', 'strictContentLength', 'throwOnError', 'tls', 'useH2c', 'useMilo', 'webSocket',
  // of BalancedPool, which hands them on to its factory
  'errorPenalty', 'maxWeightPerServer',
  // of ProxyAgent
  'auth', 'clientFactory', 'headers', 'proxyTls', 'proxyTunnel', 'requestTls', 'token', 'uri'
]

const all = new Set([...OPTION_NAMES, ...UNDICIS])

/**
 * @param {object} options
 * @param {boolean} besideUndicis undici's options stand there too; with an undici that is newer than these lists an
 *   unknown name is left to it
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, which names the option
 */
export function refuseUnknown (options, besideUndicis) {
  if (besideUndicis && !baseIsKnown()) return
  const known = besideUndicis ? all : OPTION_NAMES
  for (const name of Object.keys(options)) {
    if (!known.has(name)) throw invalidOption(`there is no option ${name}`)
  }
}
