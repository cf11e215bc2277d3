import neostandard from 'neostandard'

export default [
  ...neostandard({ ts: true, ignores: ['types/**', 'node_modules/**', 'coverage/**', 'build/**', 'bundle-*/**'] }),
  { rules: { 'no-console': 'error' } },
  { files: ['src/**'], rules: { 'max-len': ['error', { code: 120 }] } },
  { files: ['bench/**', 'examples/**', 'tools/**', 'suites/**', 'test/**'], rules: { 'no-console': 'off' } }
]
