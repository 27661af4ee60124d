/** Storages whose calls stall: until a latch opens, or for good, as before a power cut. */
import { Effect, Latch, Stream } from "effect"
import type { Entry, Storage } from "../../src/storage/Storage.ts"
import type { Table } from "../../src/storage/tables.ts"

export interface Stalling {
  /** After so many writes of entries the next one stalls. */
  writesLeft: number
  /** A write that stalls waits for it, and is then one of those that are left. Without it, it never ends. */
  gate?: Latch.Latch | undefined
}

export const stallingWrites = (storage: Storage["Service"], disk: Stalling): Storage["Service"] => {
  const write = (entries: Iterable<Entry>, stall: ReturnType<typeof storage.writeEntries>) =>
    Effect.suspend(() => (disk.writesLeft-- > 0 ? storage.writeEntries(entries) : stall))
  return {
    ...storage,
    writeEntries: (entries) => {
      const held = Effect.suspend(() =>
        disk.gate === undefined
          ? Effect.never
          : Effect.andThen(Latch.await(disk.gate), write(entries, Effect.never)),
      )
      return write(entries, held)
    },
  }
}

/** Reads of entries of the table stall while the latch is closed. */
export const stallingReads = (
  storage: Storage["Service"],
  table: Table,
  latch: Latch.Latch,
): Storage["Service"] => ({
  ...storage,
  readEntries: (range) =>
    range.table === table
      ? Stream.unwrap(Effect.as(latch.await, storage.readEntries(range)))
      : storage.readEntries(range),
})
