/**
 * How much address space a database may reserve. LMDB maps a whole database, including the space
 * into which it may grow. If the mapping exceeds the limit of the process (`ulimit -v`), `lmdb`
 * ends the process by SIGSEGV. So a database reserves at most half of the free address space. Only
 * Linux reports limit and use. Does not load Effect.
 */
import fs from "node:fs"
import { limits } from "../../Limits.ts"

/** The limit on address space is too low for a database. */
export class NoAddressSpace extends Error {}

/** The address space in bytes that this process may still reserve; infinite without a limit. */
const freeAddressSpace = (): number => {
  let table: string
  let used: string
  try {
    table = fs.readFileSync("/proc/self/limits", "latin1")
    used = fs.readFileSync("/proc/self/status", "latin1")
  } catch {
    return Number.POSITIVE_INFINITY
  }
  const bytes = /^Max address space +(\d+) /m.exec(table)?.[1]
  const kibibytes = /^VmSize:\s+(\d+) kB$/m.exec(used)?.[1]
  if (bytes === undefined || kibibytes === undefined) return Number.POSITIVE_INFINITY
  return Number(bytes) - 1_024 * Number(kibibytes)
}

/**
 * How much of `free` bytes a database with `dataBytes` reserves: half of the bytes that the threads
 * of a server leave. Throws if that is too little.
 */
export const mapBytesOf = (dataBytes: number, free: number = freeAddressSpace()): number => {
  if (free === Number.POSITIVE_INFINITY) return limits.mapBytes
  const wanted = Math.max(limits.mapBytes, 2 * dataBytes)
  const least = Math.max(limits.mapBytesMin, 2 * dataBytes)
  const share = Math.floor((free - limits.threadsMapBytes) / 2 / mebibyte) * mebibyte
  if (share >= least) return Math.min(wanted, share)
  const [needed, left] = [limits.threadsMapBytes + 2 * least, free].map((bytes) =>
    Math.ceil(Math.max(0, bytes) / mebibyte),
  )
  throw new NoAddressSpace(
    `The database needs ${needed} MiB of address space, and the limit of this process leaves ${left} MiB. Raise or remove the limit (ulimit -v).`,
  )
}

const mebibyte = 1_048_576
