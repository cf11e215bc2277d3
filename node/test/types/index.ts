// What the published types accept and reject. Checked by tsc, never run.

import * as undici from 'undici'
import {
  Agent, clientFactory, EnvHttpProxyAgent, HttpAgent, HttpsAgent, install, type Installation, Pool, ProxyAgent,
  RetryAgent, status, Timing, uninstall, withTimingId
} from 'onewrite'
import type {
  AgentOptions, Attempt, EnvHttpProxyAgentOptions, ErrorKind, HookOptions, HttpAgentOptions, HttpsAgentOptions, Options, Outcome, Phase, PoolOptions,
  ProxyAgentOptions, Status, TimingEvent, TimingListener
} from 'onewrite'
import { guardNodeHttp } from 'onewrite/http'
import { otelAttributes, otelPhases } from 'onewrite/mappers'
import { openTelemetry } from 'onewrite/opentelemetry'
import 'onewrite/register'

const agent = new Agent({
  connections: 10,
  connect: { timeout: 1000 },
  coalesceMax: 4096,
  onTiming (timing) {
    const wait: number | undefined = timing.waitNs
    const outcome: 'ok' | 'error' | 'cancelled' = timing.outcome
    // @ts-expect-error a phase may be absent
    const certain: number = timing.waitNs
    console.log(wait, outcome, certain, timing.attempts[0]?.writes)
  },
  listener: {
    onResponseStart (event) { console.log(event.tNs.toFixed()) },
    onEvent (event) { console.log(event.name, event.status) }
  }
})
const dispatcher: undici.Dispatcher = agent
// @ts-expect-error a number is asked for
new Agent({ coalesceMax: '1' }).close()
// @ts-expect-error it is a function
new Agent({ onTiming: 1 }).close()

new Pool('http://localhost', { connections: 1, onTiming (timing: Timing) { console.log(timing.url) } }).close()
new ProxyAgent({ uri: 'http://localhost', hooksDisabled: true }).close()
new EnvHttpProxyAgent({ httpProxy: 'http://localhost', observe: true }).close()
new RetryAgent(agent, { maxRetries: 2 }).close()
// @ts-expect-error an agent is asked for
new RetryAgent({ maxRetries: 2 }).close()
new undici.Pool('http://localhost', { factory: clientFactory() }).close()
new undici.Agent({ factory: clientFactory({ nodelayDisabled: true }) }).close()
new HttpAgent({ keepAlive: true, coalesceDisabled: true }).destroy()
new HttpsAgent({ keepAlive: true, ca: '' }).destroy()
new undici.Agent({ factory: clientFactory({ onTiming (timing) { console.log(timing.queueNs) } }) }).close()

export function mapped (timing: Timing) {
  const attributes: Record<string, string | number> = otelAttributes(timing)
  const phases: Record<string, string | number | boolean> = otelPhases(timing)
  const total: number = timing.totalNs
  // @ts-expect-error a record is asked for
  otelAttributes({ waitNs: 1 })
  return [attributes, phases, total]
}

new HttpAgent({ listener: openTelemetry() }).destroy()
// @ts-expect-error it is true or false
openTelemetry({ logs: 'no' })
const installed: Installation = install({ connections: 5, listener: openTelemetry({ logs: false }) })
const undone: boolean = uninstall()
const on: boolean = guardNodeHttp()
const states: Record<string, string> = status().patches
console.log(states)
const answer: Promise<Response> = withTimingId('a', () => fetch('http://localhost'))
console.log(dispatcher, installed, undone, on, answer)

// Every type that the README names can be imported.
const listener: TimingListener = { onResponseStart (event: TimingEvent) { console.log(event.name) } }
const hooks: HookOptions = { listener, onTiming (timing: Timing) { console.log(timing.proxy, timing.last?.proxy) } }
const options: AgentOptions & PoolOptions = { connections: 1, ...hooks }
const state: Status = status()
const proxied: [ProxyAgentOptions, EnvHttpProxyAgentOptions] = [{ uri: 'http://localhost', observe: true }, { ...hooks }]
const ofHttp: [HttpAgentOptions, HttpsAgentOptions] = [{ keepAlive: true, ...hooks }, { ca: '' }]
const own: Options = { coalesceMax: 1 }
export function read (attempt: Attempt): [Outcome, Phase | undefined, ErrorKind] {
  // @ts-expect-error a record has no setters
  attempt.status = 1
  return [attempt.outcome, attempt.errorPhase, 'dns']
}
console.log(options, state, proxied, ofHttp, own)
