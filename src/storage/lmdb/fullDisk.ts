/** Distinguishes a full disk and other errors of the system from damage. */
import os from "node:os"
import { getSystemErrorName } from "node:util"
import { DiskError } from "../disk/Disk.ts"
import { freeBytesOf, spareBytes } from "./reserveSpace.ts"

const { EDQUOT, EIO, ENOSPC } = os.constants.errno

const codeOf = (error: unknown): unknown =>
  (error as { readonly code?: unknown } | null | undefined)?.code

/**
 * Whether a write of LMDB failed because the disk of `folder` is full. LMDB also fails with `EIO`
 * if the disk fills up during a write: an `EIO` means a full disk if less than `bytes` is free.
 */
export const isFullDisk = (error: unknown, folder: string, bytes: number): boolean => {
  const code = codeOf(error)
  if (code === ENOSPC || code === EDQUOT) return true
  if (code !== EIO) return false
  return freeBytesOf(folder) < bytes
}

/**
 * Why the environment in `folder` was not opened: a `DiskError` for an error of the system, else
 * `error`.
 */
export const openingCause = (folder: string, error: unknown): unknown => {
  const refused = (code: string) => new DiskError({ operation: "open", path: folder, code })
  if (isFullDisk(error, folder, spareBytes)) return refused("ENOSPC")
  const code = codeOf(error)
  if (typeof code === "string" && code in os.constants.errno) return refused(code)
  // The codes of LMDB's own errors are below zero.
  if (typeof code === "number" && code > 0) return refused(getSystemErrorName(-code))
  return error
}
