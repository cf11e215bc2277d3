// Breaks a Node client: what goes to the path in BENCH_SPLIT is sent in pieces. Nothing else changes.

'use strict'

const net = require('node:net')
const tls = require('node:tls')

const path = process.env.BENCH_SPLIT
const mark = `${path} HTTP/1.1\r\n`

function brokenInto (data) {
  if (!path) return null
  const whole = Buffer.from(data)
  if (!whole.subarray(0, 400).includes(mark)) return null
  const third = Math.floor(whole.length / 3)
  return [whole.subarray(0, third), whole.subarray(third, 2 * third), whole.subarray(2 * third)]
}

for (const { prototype } of [net.Socket, tls.TLSSocket]) {
  const { _writev: writev, _write: write } = prototype
  const inPieces = (socket, pieces, callback) => {
    const next = (index) => (error) => {
      if (error || index === pieces.length) return callback(error)
      setTimeout(() => write.call(socket, pieces[index], 'buffer', next(index + 1)), index && 1)
    }
    next(0)()
  }
  prototype._write = function (data, encoding, callback) {
    const pieces = brokenInto(typeof data === 'string' ? Buffer.from(data, encoding) : data)
    return pieces ? inPieces(this, pieces, callback) : write.call(this, data, encoding, callback)
  }
  prototype._writev = function (chunks, callback) {
    const whole = Buffer.concat(chunks.map(({ chunk, encoding }) => typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk))
    const pieces = brokenInto(whole)
    return pieces ? inPieces(this, pieces, callback) : writev.call(this, chunks, callback)
  }
}
