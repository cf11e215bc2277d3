/** A debugging aid, not for production: names the cause of one long wait from what Linux counts for the socket. */

export { explainWait } from './timing/cause.js'
export { readBySs, readKernel } from './timing/kernel.js'

/** @typedef {import('./timing/kernel.js').Kernel} Kernel */
/** @typedef {import('./timing/cause.js').Cause} Cause */
