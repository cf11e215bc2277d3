// What the published types accept and refuse. Checked by tsc; never run.

import * as undici from 'undici'
import { Agent, agentFactory, clientFactory, HttpAgent, HttpsAgent, install, InvalidRequestError, Pool, ProxyAgent, RetryAgent, Timing, uninstall, withTimingId } from 'onewrite'
import { guardNodeHttp } from 'onewrite/http'

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
new RetryAgent(agent, { maxRetries: 2 }).close()
// @ts-expect-error an agent is asked for
new RetryAgent({ maxRetries: 2 }).close()
new undici.Pool('http://localhost', { factory: clientFactory() }).close()
new undici.Agent({ factory: agentFactory({ nodelayDisabled: true }) }).close()
new HttpAgent({ keepAlive: true, coalesceDisabled: true }).destroy()
new HttpsAgent({ keepAlive: true, ca: '' }).destroy()

const installed: Agent | null = install({ connections: 5 })
const undone: boolean = uninstall()
const on: boolean = guardNodeHttp()
const answer: Promise<Response> = withTimingId('a', () => fetch('http://localhost'))
const error: TypeError = new InvalidRequestError('why')
console.log(dispatcher, installed, undone, on, answer, error)
