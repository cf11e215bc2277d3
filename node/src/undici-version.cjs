/**
 * CommonJS, because Jest and others compile the package to CommonJS, where `import.meta` is a syntax error. There and
 * in ES modules alike this file knows its own path.
 */

const { readFileSync } = require('node:fs')
const { createRequire } = require('node:module')

/** @returns {string} '' where it cannot be read, as in a bundle: such a version is taken as supported */
exports.readUndiciVersion = function () {
  try {
    // Not by require(), which would keep it in its cache. A bundler would replace `require.resolve`.
    return JSON.parse(readFileSync(createRequire(__filename).resolve('undici/package.json'), 'utf8')).version
  } catch {
    return ''
  }
}
