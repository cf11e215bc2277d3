/** One connection: how it was made, and what it has carried. Made only where requests are timed. */

import net from 'node:net'
import { isUnixSocket } from '../patch.js'
import { nowNs } from './clock.js'

/** @typedef {import('./record.js').Exchange} Exchange */

let lastId = 0

/** When each step began and ended, ns; 0: it did not. @internal */
export class Steps {
  dnsStart = 0
  dnsEnd = 0
  connectStart = 0
  connectEnd = 0
  tlsStart = 0
  tlsEnd = 0

  /** The step under way, or the last. @returns {'dns' | 'connect' | 'tls'} */
  get last () { return this.tlsStart !== 0 ? 'tls' : this.connectStart !== 0 ? 'connect' : 'dns' }
}

/** After the end of a request nothing of it can be reached from here. @internal */
export class Connection {
  /** Unique in this thread. */
  id = ++lastId
  startNs = nowNs()
  steps = new Steps()
  /** It can carry requests. */
  ready = false
  requests = 0
  /** When its last request ended; 0: it has carried none. */
  releasedNs = 0
  /** The request that was written last, until it ends. @type {Exchange | null} */
  exchange = null
  /** The time limit of a socket of node:http has passed. */
  timedOut = false
  /** `host:port` of the proxy that it goes through. @type {string | undefined} */
  proxy = undefined
  /** @type {any} */
  socket = null
  #unfollow = () => {}

  /**
   * @param {string} host name or address that is connected to; '' for none
   * @param {boolean} secure TLS comes after TCP
   */
  constructor (host, secure) {
    this.secure = secure
    if (host !== '' && net.isIP(host) === 0) this.steps.dnsStart = this.startNs
    else this.steps.connectStart = this.startNs
  }

  /**
   * Listens for the steps of a socket: net and tls name them by its events `lookup`, `connect`, `secureConnect`. No
   * listener stays on a connected socket.
   * @param {any} socket that a connector has returned
   */
  follow (socket) {
    const isVisible = socket?.connecting === true && typeof socket.prependListener === 'function'
    // A Unix socket has no name lookup.
    if (!isVisible || isUnixSocket(socket)) this.cannotFollow()
    if (!isVisible) return
    const { steps } = this
    const onLookup = (/** @type {Error | null} */ error) => {
      if (steps.dnsStart === 0 || steps.dnsEnd !== 0) return
      steps.dnsEnd = nowNs()
      if (!error) steps.connectStart = steps.dnsEnd
    }
    const onConnect = () => this.secure ? this.connected() : this.opened(socket)
    const onSecure = () => this.opened(socket)
    const unfollow = this.#unfollow = () => {
      socket.off('lookup', onLookup).off('connect', onConnect).off('secureConnect', onSecure).off('close', unfollow)
    }
    socket.on('lookup', onLookup).prependListener('connect', onConnect).on('close', unfollow)
    if (this.secure) socket.prependListener('secureConnect', onSecure)
  }

  /** Its steps are not visible: all of them are `connect`. */
  cannotFollow () {
    const { steps } = this
    if (this.ready || steps.connectEnd !== 0) return
    steps.dnsStart = steps.dnsEnd = 0
    steps.connectStart = this.startNs
  }

  /** TCP is connected, or the proxy has opened its tunnel. */
  connected () {
    const { steps } = this
    if (steps.connectEnd !== 0) return
    if (steps.connectStart === 0) this.cannotFollow()
    steps.connectEnd = nowNs()
    if (this.secure && !this.ready) steps.tlsStart = steps.connectEnd
  }

  /** A request comes next. @param {any} socket that carries it */
  opened (socket) {
    this.socket = socket
    if (this.ready) return
    this.#unfollow()
    const { steps } = this
    if (steps.connectEnd === 0) {
      if (steps.connectStart === 0) this.cannotFollow()
      steps.connectEnd = nowNs()
    }
    this.ready = true
    if (steps.tlsStart !== 0) steps.tlsEnd = nowNs()
    // node:http has passed its first request to the socket before.
    if (this.exchange !== null && this.requests === 0) this.exchange.acquired(this, 0)
  }

  /**
   * The steps until now of a connection that is being made. It may go on, for another request.
   * @param {number} now
   */
  stepsUntil (now) {
    const steps = Object.assign(new Steps(), this.steps)
    if (!this.ready) steps[`${steps.last}End`] = now
    return steps
  }
}
