/**
 * The data directory of a partition, before it is opened as one: its torn end, its way aside. The caller holds the lock
 * of the cluster's directory.
 */
import fs from "node:fs"
import path from "node:path"
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import { readInstalled, readRestored, restoredName } from "../archive/ArchiveSwap.ts"
import {
  type Disk,
  type DiskError,
  isMissing,
  type OnDisk,
  readSmallFile,
  removeTree,
  withFile,
} from "../disk/Disk.ts"
import { lineageName, readLineage } from "../durable/LineageFile.ts"
import { scanJournal, segmentsIn } from "../journal/JournalScan.ts"
import { Segment } from "../journal/Segment.ts"

/** What a data directory says of itself. */
export interface Origin {
  /** `undefined`: it has belonged to no cluster. */
  readonly lineage: string | undefined
  /** A restore has replaced it since it was last open, which PostgreSQL does not have. */
  readonly isRestored: boolean
  /** The lineage is in its file; the data that has filled a copy has it in the mark of the swap at first. */
  readonly isNoted: boolean
}

export const originOf = Effect.fnUntraced(function* (
  disk: Disk,
  directory: string,
): Effect.fn.Return<Origin, DiskError> {
  const noted = yield* readLineage(disk, directory)
  const isMarked = (yield* readRestored(disk, directory)) !== undefined
  const installed = yield* readInstalled(disk, directory)
  const lineage = noted ?? installed
  const isRestored = isMarked && (installed === undefined || installed !== lineage)
  return { lineage, isRestored, isNoted: noted !== undefined }
})

/**
 * Cuts off what a power cut has left of unflushed writes at the end of the journal: whole batches can follow a gap there. All
 * of it was in PostgreSQL before it was written here. Returns whether something was cut: records that were flushed
 * never are.
 */
export const cutTornEnd = Effect.fnUntraced(function* (
  disk: Disk,
  directory: string,
): Effect.fn.Return<boolean, DiskError> {
  const folder = path.join(directory, "journal")
  const { fault, flushed, lastSequence } = yield* scanJournal({ disk, folder }, () => Effect.void)
  const newest = (yield* segmentsIn(disk, folder)).at(-1)
  if (fault?.kind !== "damaged" || newest === undefined) return false
  if (fault.path !== new Segment(folder, newest).path || lastSequence < flushed) return false
  yield* withFile(disk, fault.path, "write", (file) =>
    Effect.andThen(file.truncate(fault.position), file.sync),
  )
  yield* Effect.logWarning(
    "A power cut tore the last writes of the local copy; they were truncated and are read from PostgreSQL",
  ).pipe(Effect.annotateLogs({ directory, afterSequence: lastSequence }))
  return true
})

/** Says that the copy is damaged, where that was found while it was open. The next opening fills another one. */
export const damageName = "damaged"

/** At once: the process may end with the next call. A copy that cannot be marked is found damaged again. */
export const noteDamage = (directory: string, words: string): void => {
  try {
    fs.writeFileSync(path.join(directory, damageName), words, { flush: true })
  } catch {}
}

/** What was noted; `undefined`: no damage. */
export const notedDamage = (disk: Disk, directory: string): OnDisk<string | undefined> =>
  Effect.catchIf(
    readSmallFile(disk, path.join(directory, damageName), limits.damageNoteBytesMax),
    isMissing,
    () => Effect.undefined,
  )

export const asidePrefix = "discarded-"
const numberOf = (name: string): number =>
  name.startsWith(asidePrefix) ? Number(name.slice(asidePrefix.length)) : Number.NaN

/** All of a copy. After the note of its damage follows the lineage, without which it would not be given up. */
export const copyNames = ["live", "journal", restoredName, damageName, lineageName] as const

/** Moves the copy aside, to `discarded-<number>` in its directory. The newest of these are kept. */
export const moveAside = Effect.fnUntraced(function* (
  disk: Disk,
  directory: string,
): Effect.fn.Return<string, DiskError> {
  const names = yield* disk.list(directory)
  const numbers = names.map(numberOf).filter(Number.isInteger)
  const number = Math.max(0, ...numbers) + 1
  const aside = path.join(directory, `${asidePrefix}${number}`)
  yield* disk.makeFolder(aside)
  // After a crash the journal, or the lineage alone, still shows that this is no copy; a snapshot without them would not.
  for (const name of copyNames) {
    if (!names.includes(name)) continue
    yield* disk.rename(path.join(directory, name), path.join(aside, name))
    yield* disk.syncFolder(aside)
    yield* disk.syncFolder(directory)
  }
  for (const old of numbers.filter((one) => one <= number - limits.discardedCopiesKept)) {
    yield* removeTree(disk, path.join(directory, `${asidePrefix}${old}`))
  }
  return aside
})
