// Preloaded into each test file of undici: replaces undici's classes by this package's.
// ONEWRITE_SUITE_ROOT is undici's folder; ONEWRITE_SUITE_MODE is stock, plain (no hook) or hooks (with a hook).

const Module = require('node:module')
const { join } = require('node:path')

const { ONEWRITE_SUITE_ROOT: root = '', ONEWRITE_SUITE_MODE: mode } = process.env

if (mode !== 'stock') {
  // Known deviations that hang are skipped, so that the rest of their file runs.
  const skipped = JSON.parse(process.env.ONEWRITE_SUITE_SKIP ?? '[]')
  const runner = require('node:test')
  const { test } = runner
  runner.test = Object.assign((/** @type {any[]} */ ...args) => skipped.includes(args[0]) ? undefined : test(...args), test)

  const undici = require(root)
  const ours = Module.createRequire(join(root, 'index.js'))('onewrite')
  const hooks = mode === 'hooks' ? { onTiming () {} } : {}

  /** The class with our options beside the user's. What undici's own class made is an instance still. */
  const withHooks = (Class, Base, at = 0) => new Proxy(Class, {
    get: (target, name) => name === Symbol.hasInstance ? (object) => object instanceof Base : target[name],
    construct (target, args, newTarget) {
      const options = args[at]
      const plain = options === undefined || (typeof options === 'object' && options !== null && !(options instanceof URL))
      if (plain) args = Object.assign([], args, { [at]: { ...options, ...hooks } })
      return Reflect.construct(target, args, newTarget)
    }
  })
  /** A class that makes its own clients or pools, given our factory as its README says. */
  const withFactory = (Class, factory) => new Proxy(Class, {
    construct: (target, [urls, options, ...rest], newTarget) => Reflect.construct(target, [urls, { factory, ...options }, ...rest], newTarget)
  })
  const toClients = ours.clientFactory(hooks)

  undici.Agent = withHooks(ours.Agent, undici.Agent)
  undici.Pool = withHooks(ours.Pool, undici.Pool, 1)
  undici.ProxyAgent = withHooks(ours.ProxyAgent, undici.ProxyAgent)
  undici.Client = new Proxy(undici.Client, { construct: (_, [origin, options]) => toClients(origin, options ?? {}) })
  const toPools = (origin, options) => new undici.Pool(origin, options)
  undici.BalancedPool = withFactory(undici.BalancedPool, toPools)
  if (undici.RoundRobinPool) undici.RoundRobinPool = withFactory(undici.RoundRobinPool, toClients)
  undici.setGlobalDispatcher(new undici.Agent())

  // Some test files require a class by its path.
  const own = {
    agent: 'Agent', pool: 'Pool', 'proxy-agent': 'ProxyAgent', client: 'Client', 'balanced-pool': 'BalancedPool', 'round-robin-pool': 'RoundRobinPool'
  }
  const byPath = new Map(Object.entries(own).map(([file, name]) => [join(root, 'lib', 'dispatcher', `${file}.js`), name]))
  const loader = /** @type {any} */ (Module)
  const load = loader._load
  loader._load = function (request, parent, ...rest) {
    const loaded = load.call(this, request, parent, ...rest)
    if (!request.includes('dispatcher') || !parent?.filename?.startsWith(join(root, 'test'))) return loaded
    const name = byPath.get(loader._resolveFilename(request, parent))
    return name === undefined ? loaded : undici[name]
  }
}
