// A CommonJS program in TypeScript. Checked by tsc, never run.

import { Agent, type Timing } from 'onewrite'
import { HttpAgent } from 'onewrite/http'
import { harTimings } from 'onewrite/mappers'

new Agent({ onTiming (timing: Timing) { console.log(harTimings(timing).time) } }).close()
// @ts-expect-error a number is asked for
new HttpAgent({ coalesceMax: '1' }).destroy()
