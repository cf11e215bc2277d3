// Makes the bodies of the protocol. Their content is one repeated letter, so both sides know its hash.

import { createReadStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Skipped } from './skipped.js'

/** Kinds of bodies that are capabilities. */
export const SENT_KINDS = ['bytes', 'text', 'memory_file', 'file', 'form', 'multipart', 'stream']

/**
 * `value` is the body as a user of the API would pass it, `headers` are what the user would add.
 * @param {any} spec body of the protocol
 * @param {'undici' | 'fetch' | 'http'} api
 * @param {{FormData: any}} types FormData of the API
 * @returns {Promise<{value: any, headers: [string, string][], dispose?: () => Promise<void>}>}
 */
export async function makeBody (spec, api, types) {
  const fill = spec?.fill ?? 'x'
  switch (spec?.kind ?? 'none') {
    case 'none':
      return { value: undefined, headers: [] }
    case 'bytes':
      return { value: spec.b64 === undefined ? Buffer.alloc(spec.size, fill) : Buffer.from(spec.b64, 'base64'), headers: [] }
    case 'text':
      return { value: spec.text ?? fill.repeat(spec.size), headers: [] }
    case 'memory_file':
      if (api === 'http') throw new Skipped('node:http takes no Blob')
      return { value: new Blob([fill.repeat(spec.size)]), headers: [] }
    case 'file':
      return await fileBody(spec, fill, api)
    case 'form': {
      const form = new URLSearchParams(spec.fields)
      if (api === 'fetch') return { value: form, headers: [] }
      return { value: form.toString(), headers: [['content-type', 'application/x-www-form-urlencoded']] }
    }
    case 'multipart': {
      if (api === 'http') throw new Skipped('node:http has no multipart form')
      const form = new types.FormData()
      for (const field of spec.fields) {
        if (field.filename === undefined) form.append(field.name, field.value)
        else form.append(field.name, new Blob([fill.repeat(field.size ?? 0)]), field.filename)
      }
      return { value: form, headers: [] }
    }
    case 'stream':
      return streamBody(spec, fill, api)
    default:
      throw new Skipped(`body kind ${spec.kind} is not known`)
  }
}

async function fileBody (spec, fill, api) {
  if (api === 'fetch') throw new Skipped('fetch takes no open file')
  const folder = await mkdtemp(join(tmpdir(), 'onewrite-driver-'))
  const path = join(folder, 'body')
  await writeFile(path, fill.repeat(spec.size))
  const value = createReadStream(path, { start: spec.position })
  return {
    value,
    headers: [['content-length', String(spec.size - (spec.position ?? 0))]],
    dispose: () => rm(folder, { recursive: true, force: true })
  }
}

function streamBody (spec, fill, api) {
  const sizes = spec.chunks
  async function * chunks () {
    for (const [index, size] of sizes.entries()) {
      if (spec.gap_ms && index > 0) await new Promise((resolve) => setTimeout(resolve, spec.gap_ms))
      yield Buffer.alloc(size, fill)
    }
  }
  /** @type {[string, string][]} */
  const headers = []
  if (spec.length) {
    if (api === 'fetch') throw new Skipped('fetch announces no length for a stream')
    headers.push(['content-length', String(spec.declared_size ?? sizes.reduce((sum, size) => sum + size, 0))])
  }
  // fetch turns an iterator into a byte stream, in which an empty chunk would never end.
  const value = api === 'fetch' ? ReadableStream.from(chunks()) : chunks()
  return { value, headers }
}
