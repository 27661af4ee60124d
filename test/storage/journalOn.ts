/** Journals on simulated disks, with segments small enough to see many. */
import { Effect } from "effect"
import { openJournal } from "../../src/storage/journal/Journal.ts"
import type { SimulatedDisk } from "../simulation/SimulatedDisk.ts"
import { numbered } from "./records.ts"

export const folder = "/data/journal"

export const journalOn = (disk: SimulatedDisk, segmentBytes = 4_096, freeSpaceBytesMin = 0) =>
  openJournal({ disk, folder, segmentBytes, freeSpaceBytesMin })

type Journal = Effect.Success<ReturnType<typeof journalOn>>

/** Appends batches of these sizes; returns the last sequence. */
export const appendBatches = (journal: Journal, counts: ReadonlyArray<number>, padding = "") =>
  Effect.gen(function* () {
    for (const count of counts)
      yield* journal.append(numbered(journal.lastSequence + 1, count, padding))
    return journal.lastSequence
  })
