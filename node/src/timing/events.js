/** The events of a call (spec/events.yaml): their fields, the listener, and which of them it wants. */

/**
 * One step of a call. `tNs` is CLOCK_MONOTONIC (on other systems than Linux the clock of `process.hrtime()`),
 * in integer nanoseconds. Names, fields and order: spec/events.yaml.
 * @typedef {object} TimingEvent
 * @property {string} name camelCase name of the event, such as `responseStart`
 * @property {number} tNs when, integer ns
 * @property {number} [attempt] 0, 1, …; absent on `callStart`
 * @property {string | number | undefined} [id] the id given with `withTimingId()`
 * @property {string} [method] of `callStart`
 * @property {string} [url] of `callStart`
 * @property {number} [startedAtUnixNs] of `callStart`
 * @property {string} [host] of `dnsStart`
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

/** @typedef {(event: TimingEvent) => void} OnEvent */

/**
 * All methods are optional and are called on the listener. `onEvent` gets every event, after the event's own method.
 * Which methods there are is checked once, when the agent is made.
 * @typedef {object} TimingListener
 * @property {OnEvent} [onCallStart]
 * @property {OnEvent} [onAttemptStart]
 * @property {OnEvent} [onQueueStart]
 * @property {OnEvent} [onQueueEnd]
 * @property {OnEvent} [onDnsStart]
 * @property {OnEvent} [onDnsEnd]
 * @property {OnEvent} [onConnectStart]
 * @property {OnEvent} [onConnectEnd]
 * @property {OnEvent} [onTlsStart]
 * @property {OnEvent} [onTlsEnd]
 * @property {OnEvent} [onConnectionAcquired]
 * @property {OnEvent} [onRequestStart]
 * @property {OnEvent} [onRequestEnd]
 * @property {OnEvent} [onInformational]
 * @property {OnEvent} [onResponseStart]
 * @property {OnEvent} [onHeadersEnd]
 * @property {OnEvent} [onResponseEnd]
 * @property {OnEvent} [onConnectionReleased]
 * @property {OnEvent} [onAttemptEnd]
 * @property {OnEvent} [onCallEnd]
 * @property {OnEvent} [onEvent]
 */

/** Which events a listener wants. The others are not made, and the clock is not read for them. */
export class Wants {
  /** @param {any[]} listeners */
  constructor (listeners) {
    const has = (/** @type {string} */ method) => listeners.some((listener) => listener.onEvent !== undefined || listener[method] !== undefined)
    this.callStart = has('onCallStart')
    this.attemptStart = has('onAttemptStart')
    this.queueStart = has('onQueueStart')
    this.queueEnd = has('onQueueEnd')
    this.steps = STEPS.some(has)
    this.connectionAcquired = has('onConnectionAcquired')
    this.requestStart = has('onRequestStart')
    this.requestEnd = has('onRequestEnd')
    this.informational = has('onInformational')
    this.responseStart = has('onResponseStart')
    this.headersEnd = has('onHeadersEnd')
    this.responseEnd = has('onResponseEnd')
    this.connectionReleased = has('onConnectionReleased')
    this.attemptEnd = has('onAttemptEnd')
    this.callEnd = has('onCallEnd')
  }
}

const STEPS = ['onDnsStart', 'onDnsEnd', 'onConnectStart', 'onConnectEnd', 'onTlsStart', 'onTlsEnd']
