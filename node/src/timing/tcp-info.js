/**
 * TCP_INFO by getsockopt through `node:ffi`, where Node has it (26.1 and later, experimental): no child process, about
 * a microsecond per reading. The layout is struct tcp_info of linux/tcp.h, which grows only at its end.
 */

const [IPPROTO_TCP, TCP_INFO] = [6, 11]
/** Up to tcpi_rwnd_limited, which Linux has since 4.10. */
const SIZE = 184

/** @typedef {(fd: number) => Buffer | null} ReadTcpInfo */

/** @type {ReadTcpInfo | null | undefined} undefined: not looked for yet */
let reader

/** @returns {ReadTcpInfo | null} null where this runtime cannot call getsockopt */
export function tcpInfoReader () {
  if (reader === undefined) reader = makeReader()
  return reader
}

/** @returns {ReadTcpInfo | null} */
function makeReader () {
  if (process.platform !== 'linux') return null
  try {
    const ffi = /** @type {any} */ (process).getBuiltinModule('node:ffi')
    // null: what is loaded in the process already, with its libc.
    const { functions } = ffi.dlopen(null, {
      getsockopt: { arguments: ['int32', 'int32', 'int32', 'buffer', 'buffer'], return: 'int32' }
    })
    return (fd) => {
      const [info, size] = [Buffer.alloc(SIZE), Buffer.alloc(4)]
      new Uint32Array(size.buffer, size.byteOffset, 1)[0] = SIZE
      return functions.getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, size) === 0 ? info : null
    }
  } catch {
    // The module is missing, not permitted, or has another interface. `ss` is used instead.
    return null
  }
}

/**
 * @param {Buffer} info
 * @param {number} readNs when it was read, ns of the monotonic clock
 * @returns {import('./kernel.js').Kernel}
 */
export function kernelOf (info, readNs) {
  const fields = new DataView(info.buffer, info.byteOffset, info.byteLength)
  // The kernel writes numbers in the byte order of the machine.
  const little = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1
  const u32 = (/** @type {number} */ at) => fields.getUint32(at, little)
  return {
    segmentsOut: u32(156),
    retransmits: u32(100),
    rttUs: u32(68),
    minRttUs: u32(148),
    rwndLimitedMs: Number(fields.getBigUint64(176, little) / 1000n),
    lastSentNs: Math.round(readNs - u32(44) * 1e6)
  }
}
