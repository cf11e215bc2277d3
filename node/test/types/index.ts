// What the published types accept and reject. Checked by tsc, never run.

import * as undici from 'undici'
import {
  Agent, clientFactory, EnvHttpProxyAgent, HttpAgent, hookFailures, HttpsAgent, install, Pool, ProxyAgent, status, uninstall
} from 'onewrite'
import type {
  AgentOptions, EnvHttpProxyAgentOptions, ErrorKind, EventName, HttpAgentOptions, HttpsAgentOptions, Options, Outcome, Phase, PoolOptions,
  ProxyAgentOptions, Status, TimingRecord
} from 'onewrite'
import { guardNodeHttp } from 'onewrite/http'
import { openTelemetry } from 'onewrite/opentelemetry'
import 'onewrite/register'

const agent = new Agent({
  connections: 10,
  connect: { timeout: 1000 },
  onTiming (record) {
    const wait: number | undefined = record.waitNs
    const outcome: 'ok' | 'error' | 'cancelled' = record.outcome
    // @ts-expect-error a phase may be absent
    const certain: number = record.waitNs
    for (const [name, tNs] of record.events) console.log(name.length, tNs.toFixed())
    console.log(wait, outcome, certain, record.toJSON().wait_ns)
  }
})
const dispatcher: undici.Dispatcher = agent
// @ts-expect-error true or false is asked for
new Agent({ observe: '1' }).close()
// @ts-expect-error it is a function
new Agent({ onTiming: 1 }).close()

new Pool('http://localhost', { connections: 1, onTiming (record: TimingRecord) { console.log(record.url) } }).close()
new ProxyAgent({ uri: 'http://localhost', disabled: true }).close()
new EnvHttpProxyAgent({ httpProxy: 'http://localhost', observe: true }).close()
new undici.Pool('http://localhost', { factory: clientFactory() }).close()
new undici.Agent({ factory: clientFactory({ onTiming (record) { console.log(record.queueNs) } }) }).close()
new HttpAgent({ keepAlive: true, onTiming: openTelemetry() }).destroy()
new HttpsAgent({ keepAlive: true, ca: '' }).destroy()

const remove: () => boolean = install({ connections: 5, onTiming: openTelemetry() })
const undone: boolean = uninstall()
const on: boolean = guardNodeHttp()
const states: Record<string, string> = status().patches
const failed: number = hookFailures()
console.log(dispatcher, remove(), undone, on, states, failed)

// Every type that the README names can be imported.
const options: AgentOptions & PoolOptions & Options = { connections: 1, onTiming: null }
const state: Status = status()
const proxied: [ProxyAgentOptions, EnvHttpProxyAgentOptions] = [{ uri: 'http://localhost', observe: true }, {}]
const ofHttp: [HttpAgentOptions, HttpsAgentOptions] = [{ keepAlive: true }, { ca: '' }]
export function read (record: TimingRecord): [Outcome, Phase | undefined, ErrorKind | undefined, EventName | undefined] {
  // @ts-expect-error attempts are no more
  console.log(record.attempts)
  return [record.outcome, record.errorPhase, record.errorKind, record.events[0]?.[0]]
}
console.log(options, state, proxied, ofHttp)
