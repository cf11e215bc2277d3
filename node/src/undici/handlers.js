/**
 * The handler of one request, around the program's: it is the exchange itself. Within a dispatcher undici 7 has
 * handlers of the older style alone (onConnect, onHeaders, …), undici 8 handlers with a controller alone, so a process
 * uses one of the two classes. `this` of the program's handler is still that handler.
 */

import { hasControllers } from '../base-version.js'
import { Exchange } from '../timing/record.js'

/** @typedef {import('../config.js').Hook} Hook */

/** On a client: its present connection. @internal */
export const kConnection = Symbol('onewrite connection')
/** Answers without a body (Fetch standard, null body status). @type {Set<number | undefined>} */
const BODYLESS = new Set([204, 205, 304])

/**
 * @param {any} handler
 * @returns {boolean} of one of undici's own functions, without fetch: it has the asynchronous context of the call
 */
function isOwn (handler) { return typeof handler?.runInAsyncScope === 'function' }

/** @param {any} error any value: a program may abort with it @param {string} name @returns {unknown} */
function read (error, name) {
  try {
    return error?.[name]
  } catch {
    return undefined
  }
}

/** The parts that both styles share. The two classes are inside of it, because they use its private fields. */
class UndiciExchange extends Exchange {
  /** The program's handler, until the end. @type {any} */
  #inner
  /** The client that sends it. @type {any} */
  #client = null
  /** @type {any} */
  #signal
  #forwarded
  #aborted = false

  /**
   * @param {Hook[]} hooks @param {any} opts @param {any} inner @param {string} origin
   * @param {boolean} forwarded by a proxy
   */
  constructor (hooks, opts, inner, origin, forwarded) {
    super(hooks, opts.method, origin, opts.path, isOwn(inner) ? inner : undefined)
    this.#inner = inner
    this.#signal = opts.signal
    this.#forwarded = forwarded
    // Of the RetryHandler of undici 8.
    if (inner.retryCount > 0) this.resend = inner.retryCount
  }

  /** @param {any} client */
  setClient (client) { this.#client = client }

  /** @param {any} chunk */
  onBodySent (chunk) { return this.#inner?.onBodySent?.(chunk) }

  onRequestSent () {
    this.passed()
    return this.#inner?.onRequestSent?.()
  }

  onResponseStarted () {
    this.firstByte()
    return this.#inner?.onResponseStarted?.()
  }

  /**
   * A record that a hook keeps leads to nothing of the request.
   * @param {{error: any} | null} failure null: its answer was read
   */
  #ended (failure) {
    const [inner, signal, client] = [this.#inner, this.#signal, this.#client]
    this.#inner = this.#signal = this.#client = null
    if (failure !== null) this.#failed(failure.error, signal, inner, client)
    // For a 407 of a proxy that forwards, the program has an error, and then the body (undici
    // lib/dispatcher/proxy-agent.js, Http1ProxyWrapper).
    else if (this.#forwarded && this.status === 407) this.failed(undefined, false)
    else this.succeeded()
  }

  /** @param {any} error @param {any} signal of the request @param {any} inner @param {any} client */
  #failed (error, signal, inner, client) {
    if (this.status !== undefined) {
      const [code, name, message] = [read(error, 'code'), read(error, 'name'), read(error, 'message')]
      // undici 7 fails the body of such an answer that announces a length. For fetch it has no body, and is read.
      const isMismatch = code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
      if (isMismatch && BODYLESS.has(this.status) && !isOwn(inner)) {
        this.lastByte()
        return this.succeeded()
      }
      // undici's error for a body that the program destroyed, or fetch's for one that it cancelled: it wanted no more.
      const isDrop = this.#aborted &&
        (code === 'UND_ERR_ABORTED' || (name === 'AbortError' && message === 'The operation was aborted.'))
      // undici.request turns an abort into the same; the signal shows it, but not one that is an EventEmitter.
      // undici.stream(), which has a factory, gives up when its stream fails.
      const isUsed = signal != null && signal.aborted !== false
      if (isDrop && !isUsed && inner?.factory === undefined) return this.succeeded()
      if (isDrop) error = signal?.reason ?? error
    }
    this.failed(error, this.#aborted, client?.[kConnection] ?? null)
  }

  static Legacy = class extends UndiciExchange {
    static methods = ['onConnect', 'onError', 'onHeaders', 'onData', 'onComplete']
    static upgradeMethods = ['onConnect', 'onError', 'onUpgrade']

    /** @param {(reason: any) => void} abort @param {any} context */
    onConnect (abort, context) {
      this.acquired(this.#client?.[kConnection] ?? null)
      return this.#inner?.onConnect((/** @type {any} */ reason) => {
        this.#aborted = true
        abort(reason)
      }, context)
    }

    /** @param {number} status @param {any} headers @param {any} resume @param {any} text */
    onHeaders (status, headers, resume, text) {
      this.head(status)
      return this.#inner?.onHeaders(status, headers, resume, text)
    }

    /** 101, or 200 for a tunnel. @param {number} status @param {any} headers @param {any} socket */
    onUpgrade (status, headers, socket) {
      const inner = this.#inner
      this.head(status)
      this.#ended(null)
      return inner?.onUpgrade(status, headers, socket)
    }

    /** @param {any} chunk */
    onData (chunk) {
      this.bytesReceived += chunk.length
      return this.#inner?.onData(chunk)
    }

    /** @param {any} trailers */
    onComplete (trailers) {
      this.lastByte()
      // undici reports an error that it throws by the method for errors.
      const result = this.#inner?.onComplete(trailers)
      this.#ended(null)
      return result
    }

    /** @param {any} error */
    onError (error) {
      const inner = this.#inner
      this.#ended({ error })
      return inner?.onError(error)
    }
  }

  static WithController = class extends UndiciExchange {
    static methods = ['onRequestStart', 'onResponseError', 'onResponseStart', 'onResponseData', 'onResponseEnd']
    static upgradeMethods = ['onRequestStart', 'onResponseError', 'onRequestUpgrade']

    /** @param {any} controller @param {any} context */
    onRequestStart (controller, context) {
      this.acquired(this.#client?.[kConnection] ?? null)
      return this.#inner?.onRequestStart(controller, context)
    }

    /** @param {any} controller @param {number} status @param {any} headers @param {any} text */
    onResponseStart (controller, status, headers, text) {
      this.head(status)
      return this.#inner?.onResponseStart(controller, status, headers, text)
    }

    /**
     * 101, or 200 for a tunnel.
     * @param {any} controller @param {number} status @param {any} headers @param {any} socket
     */
    onRequestUpgrade (controller, status, headers, socket) {
      const inner = this.#inner
      this.head(status)
      this.#ended(null)
      return inner?.onRequestUpgrade(controller, status, headers, socket)
    }

    /** @param {any} controller @param {any} chunk */
    onResponseData (controller, chunk) {
      this.bytesReceived += chunk.length
      return this.#inner?.onResponseData(controller, chunk)
    }

    /** @param {any} controller @param {any} trailers */
    onResponseEnd (controller, trailers) {
      this.lastByte()
      // undici reports an error that it throws by the method for errors.
      const result = this.#inner?.onResponseEnd(controller, trailers)
      this.#ended(null)
      return result
    }

    /** @param {any} controller null: it was refused at once @param {any} error */
    onResponseError (controller, error) {
      const inner = this.#inner
      this.#aborted = controller?.aborted === true
      this.#ended({ error })
      return inner?.onResponseError(controller, error)
    }
  }
}

/** @internal */
export const Handler = hasControllers ? UndiciExchange.WithController : UndiciExchange.Legacy

/**
 * A handler that undici refuses (undici lib/core/util.js, assertRequestHandler) reaches undici unwrapped: a wrapper has
 * all methods, so the request would be sent before the missing one is noticed.
 * @internal
 * @param {Hook[]} hooks
 * @param {any} opts of a dispatch
 * @param {any} handler
 * @param {string} origin of the dispatcher
 * @returns {Exchange | null} null: undici refuses the handler or the options, in its own way
 */
export function handlerFor (hooks, opts, handler, origin) {
  const methods = opts.upgrade || opts.method === 'CONNECT' ? Handler.upgradeMethods : Handler.methods
  for (const name of methods) if (typeof handler[name] !== 'function') return null
  for (const name of ['onBodySent', 'onRequestSent']) {
    if (handler[name] !== undefined && typeof handler[name] !== 'function') return null
  }
  if (typeof opts.path !== 'string' || typeof opts.method !== 'string') return null
  // A whole URL is for a proxy that forwards.
  const forwarded = opts.path.startsWith('http://') || opts.path.startsWith('https://')
  const exchange = new Handler(hooks, opts, handler, origin, forwarded)
  if (forwarded) exchange.proxy = peerOf(new URL(origin))
  return exchange
}

/** @internal @param {any} url its parts @returns {string} `host:port`, by default the port of the scheme */
export function peerOf ({ protocol, hostname, port }) {
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}
