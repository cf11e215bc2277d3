/** The events of a call (spec/events.yaml): their fields, the listener, and who gets which. */

export const EVENTS = /** @type {const} */ (['callStart', 'attemptStart', 'queueStart', 'queueEnd',
  'dnsStart', 'dnsEnd', 'connectStart', 'connectEnd', 'tlsStart', 'tlsEnd', 'connectionAcquired',
  'requestStart', 'requestEnd', 'informational', 'responseStart', 'headersEnd', 'responseEnd',
  'connectionReleased', 'attemptEnd', 'callEnd'])

/** @typedef {typeof EVENTS[number]} EventName */

/**
 * What only some events have.
 * @typedef {object} EventFields
 * @property {string} [method] of `callStart`
 * @property {string} [url] of `callStart`
 * @property {number} [startedAtUnixNs] of `callStart`
 * @property {string} [host] of `dnsStart`: the name that is looked up, the proxy's if the connection goes there
 * @property {string} [peer] of `connectStart`: `host:port` that is connected to; the path of a Unix socket
 * @property {string} [error] of `dnsEnd`, `connectEnd`, `tlsEnd`: the message, when the step failed
 * @property {number} [connId] of `connectionAcquired`
 * @property {boolean} [reused] of `connectionAcquired`
 * @property {number} [idleNs] of `connectionAcquired`
 * @property {number} [connRequests] of `connectionAcquired`: requests on this connection, this one included
 * @property {number} [bytes] of `requestEnd` and `responseEnd`
 * @property {number} [writes] of `requestEnd`
 * @property {number} [status] of `informational` and `headersEnd`
 * @property {boolean} [reusable] of `connectionReleased`
 * @property {'ok' | 'error' | 'cancelled'} [outcome] of `attemptEnd` and `callEnd`
 * @property {import('../errors.js').ErrorKind} [errorKind] of `callEnd`
 * @property {import('./record.js').Phase} [errorPhase] of `callEnd`
 */

/** @typedef {MadeEvent & EventFields} TimingEvent */

/**
 * One step of a call. Names, fields and order: spec/events.yaml. Every event of a name has the same properties; one
 * without a value is undefined.
 */
export class MadeEvent {
  /** @type {import('./call.js').Call} */
  #of
  /** @type {MadeEvent | null} */
  #next = null

  /**
   * @internal
   * @param {import('./call.js').Call} of the attempt, for `callStart` the call
   * @param {EventName} name @param {number} tNs
   */
  constructor (of, name, tNs) {
    this.#of = of
    /** Name of the event, such as `responseStart`. @type {EventName} */
    this.name = name
    /** When, integer ns: the clock of `process.hrtime()`, on Linux CLOCK_MONOTONIC. @type {number} */
    this.tNs = tNs
    /** 0, 1, …; absent on `callStart`. @type {number | undefined} */
    this.attempt = of.isAttempt ? of.index : undefined
    /** The id given with `withTimingId()`. @type {string | number | undefined} */
    this.id = of.id
  }

  /** @internal The event that waits behind it, for an event that waits. */
  get next () { return this.#next }
  set next (event) { this.#next = event }

  /** @internal Its attempt has become one of another call. */
  adopted () {
    if (this.#of.isAttempt) this.attempt = this.#of.index
    this.id = this.#of.id
  }

  /** The record of the call, as far as it has come when this is read; whole after `callEnd`. */
  get timing () { return this.#of.top.timing }
}

/** @typedef {(event: TimingEvent) => unknown} OnEvent */

/**
 * All methods are optional and are called on the listener: `onCallStart`, `onResponseEnd` and so on, one for each
 * event. `onEvent` gets every event, after the event's own method. The methods are read once, when the agent is made.
 * @typedef {{[E in EventName as `on${Capitalize<E>}`]?: OnEvent} & {onEvent?: OnEvent}} TimingListener
 */
