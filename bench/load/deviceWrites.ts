/**
 * Bytes written to the block device that holds a folder, from Linux's /sys: by all processes of the
 * machine, and by the file system itself. The count of each process (`write_bytes` of /proc) is no
 * measure of this: ext4 counts a page with its whole folio, which is up to 2 MiB large.
 *
 * Some file systems have no device of their own (overlay, btrfs, tmpfs, those of a network). Their
 * bytes are unknown: NaN.
 */
import { execFile } from "node:child_process"
import { readFileSync, statSync } from "node:fs"
import path from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"

const sectorBytes = 512
/** The field "write sectors" of a device's `stat`, counted from 0. */
const writtenSectorsField = 6
const devices = "/sys/dev/block"

/** The name of a device in `/sys/dev/block`, from Linux's number: bits of major and minor mixed. */
export const deviceNameOf = (device: bigint): string => {
  const major = ((device >> 8n) & 0xfffn) | ((device >> 32n) & 0xffff_f000n)
  const minor = (device & 0xffn) | ((device >> 12n) & 0xffff_ff00n)
  return `${major}:${minor}`
}

/** Bytes written so far, from the text of a device's `stat`; NaN if it is none. */
export const writtenBytesIn = (stat: string): number => {
  const sectors = stat.trim().split(/\s+/)[writtenSectorsField] ?? ""
  return /^\d+$/.test(sectors) ? Number(sectors) * sectorBytes : Number.NaN
}

/** Bytes written so far to the device of a folder; NaN: unknown. */
export const readDeviceBytes = (folder: string, within = devices): number => {
  const name = deviceNameOf(statSync(folder, { bigint: true }).dev)
  try {
    return writtenBytesIn(readFileSync(path.join(within, name, "stat"), "utf8"))
  } catch {
    return Number.NaN
  }
}

/** Writes all pages of the folder's file system that are only in memory. On Linux only. */
export const writePages = async (folder: string): Promise<void> => {
  await promisify(execFile)("sync", ["--file-system", folder])
}

/** `readDeviceBytes` once no page of the folder's file system waits in memory. */
export const deviceBytes = async (folder: string): Promise<number> => {
  if (Number.isNaN(readDeviceBytes(folder))) return Number.NaN
  await writePages(folder)
  return readDeviceBytes(folder)
}

/** Bytes a second that the device of a folder writes while the servers are suspended. */
export const bytesAtRest = async (
  servers: ReadonlyArray<{ readonly pause: () => void; readonly resume: () => void }>,
  folder: string,
  seconds: number,
): Promise<number> => {
  for (const { pause } of servers) pause()
  try {
    const before = await deviceBytes(folder)
    await sleep(seconds * 1_000)
    return ((await deviceBytes(folder)) - before) / seconds
  } finally {
    for (const { resume } of servers) resume()
  }
}
