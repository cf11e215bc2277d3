// A CommonJS program in TypeScript. Checked by tsc, never run.

import { Agent, type Timing } from 'onewrite'
import { HttpAgent } from 'onewrite/http'
import { otelPhases } from 'onewrite/mappers'

new Agent({ onTiming (timing: Timing) { console.log(otelPhases(timing).time) } }).close()
// @ts-expect-error a number is asked for
new HttpAgent({ coalesceMax: '1' }).destroy()
