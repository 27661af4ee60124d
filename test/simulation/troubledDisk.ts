import { Effect } from "effect"
import { type Storage, Unavailable } from "../../src/storage/Storage.ts"

/** The present faults of a disk. */
export interface Trouble {
  /** There is no space for journal or snapshot. */
  full: boolean
  /** How long an append takes, in milliseconds of the test's clock. */
  appendMs: number
}

/** A disk that is full or slow while `trouble` says so. */
export const troubledDisk = (
  storage: Storage["Service"],
  trouble: Trouble,
): Storage["Service"] => ({
  ...storage,
  append: (batch) =>
    Effect.suspend(() => {
      const answer = Effect.suspend(() =>
        trouble.full
          ? Effect.fail(new Unavailable({ operation: "append", reason: "disk_full" }))
          : storage.append(batch),
      )
      return trouble.appendMs > 0 ? Effect.andThen(Effect.sleep(trouble.appendMs), answer) : answer
    }),
  eraseRecords: (sequences) =>
    Effect.suspend(() =>
      trouble.full
        ? Effect.fail(new Unavailable({ operation: "erase", reason: "disk_full" }))
        : storage.eraseRecords(sequences),
    ),
  writeEntries: (entries) =>
    Effect.suspend(() =>
      trouble.full
        ? Effect.fail(new Unavailable({ operation: "writeEntries", reason: "disk_full" }))
        : storage.writeEntries(entries),
    ),
})
