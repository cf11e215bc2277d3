// A reporter for node:test: one JSON line per test.

/** @param {AsyncIterable<any>} source */
export default async function * (source) {
  const path = []
  for await (const { type, data } of source) {
    if (type === 'test:start') path[data.nesting] = data.name
    if (type !== 'test:pass' && type !== 'test:fail') continue
    if (data.skip !== undefined || data.todo !== undefined || data.details?.type === 'suite') continue
    const name = [...path.slice(0, data.nesting), data.name].join(' > ')
    const error = data.details?.error
    yield `${JSON.stringify({ name, passed: type === 'test:pass', error: error && String(error.cause?.stack ?? error.cause ?? error).slice(0, 600) })}\n`
  }
}
