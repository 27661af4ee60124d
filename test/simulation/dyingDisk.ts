import { Effect } from "effect"
import type { Storage } from "../../src/storage/Storage.ts"

/** How many calls of a kind are left. */
export interface Dying {
  appendsLeft: number
  /** Whether the batch without an answer is on disk afterwards. */
  lastAppendKept: boolean
  writesLeft: number
  /** Whether the entries without an answer are on disk afterwards. */
  lastWriteKept?: boolean
}

/** A disk that no longer answers after a number of calls, as before a power cut. */
export const dyingDisk = (storage: Storage["Service"], disk: Dying): Storage["Service"] => ({
  ...storage,
  append: (batch) =>
    Effect.suspend(() => {
      if (disk.appendsLeft-- > 0) return storage.append(batch)
      return disk.lastAppendKept
        ? Effect.andThen(storage.append(batch), Effect.never)
        : Effect.never
    }),
  eraseRecords: (sequences) =>
    Effect.suspend(() => (disk.writesLeft-- > 0 ? storage.eraseRecords(sequences) : Effect.never)),
  writeEntries: (entries) =>
    Effect.suspend(() => {
      if (disk.writesLeft-- > 0) return storage.writeEntries(entries)
      return disk.lastWriteKept === true && disk.writesLeft === -1
        ? Effect.andThen(storage.writeEntries(entries), Effect.never)
        : Effect.never
    }),
})
