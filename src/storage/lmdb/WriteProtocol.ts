/** Messages between the event loop and the thread that writes LMDB. */
import type { SharedSlice } from "../EntrySlice.ts"
import type { Sums } from "./Sums.ts"

export interface WriteSettings {
  readonly folder: string
  readonly mapBytes: number | undefined
  /** As of the last transaction. */
  readonly sums: Sums
}

/** A slice to write, or the end: the thread closes the environment and exits. */
export type WriteOrder = SharedSlice | "close"

/** An error of LMDB or of the system, which has a number. */
export interface WriteFault {
  readonly message: string
  readonly code: unknown
}

/** The sums after the transaction, which is durable; or a fault. */
export type WriteOutcome = { readonly sums: Sums } | WriteFault

export const asFault = (error: unknown): WriteFault => ({
  message: error instanceof Error ? error.message : String(error),
  code: (error as { readonly code?: unknown } | null | undefined)?.code,
})

export const errorOf = ({ code, message }: WriteFault): Error =>
  Object.assign(new Error(message), { code })
