import neostandard from 'neostandard'

export default [
  ...neostandard({ ts: true, ignores: ['types/**', 'node_modules/**', 'coverage/**', 'build/**'] }),
  { rules: { 'no-console': 'error' } },
  { files: ['bench/**', 'examples/**', 'tools/**', 'suites/**', 'test/**'], rules: { 'no-console': 'off' } }
]
