// A CommonJS program in TypeScript. Checked by tsc, never run.

import { Agent, type TimingRecord } from 'onewrite'
import { HttpAgent } from 'onewrite/http'

new Agent({ onTiming (record: TimingRecord) { console.log(record.waitNs) } }).close()
// @ts-expect-error true or false is asked for
new HttpAgent({ observe: '1' }).destroy()
