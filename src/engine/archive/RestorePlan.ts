/**
 * What a restore would do, found out without changing anything: which archive it begins with, up to which record
 * the journal of the directory adds to it, and what would not be there any more.
 *
 * An archive and a journal belong together only if they are of one history: the batch after the archive's last
 * record names the archive's checksum. After a restore the journal goes on otherwise than before; archives of
 * the part that was given up do not fit it, and are passed over.
 */
import { Effect, Result } from "effect"
import type { JournalRecord } from "../../domain/Record.ts"
import { limits } from "../../Limits.ts"
import { isGood, type ListedArchive } from "../../storage/ArchiveCatalog.ts"
import type { Manifest } from "../../storage/ArchiveManifest.ts"
import { type Disk, type DiskError, withFile } from "../../storage/Disk.ts"
import { batchRecords } from "../../storage/Frames.ts"
import { type JournalEnd, scanJournal, segmentsIn } from "../../storage/JournalScan.ts"
import { Segment } from "../../storage/Segment.ts"
import type { SegmentBatch } from "../../storage/SegmentFormat.ts"
import { decodeRecord } from "../Codec.ts"
import { JobFailed, type JobProgress } from "./Jobs.ts"

/**
 * Up to which record: that of the archive, a given one, the last one decided at a time (epoch milliseconds)
 * or before it, or the journal's last.
 */
export type RestoreTarget =
  | { readonly kind: "archive" }
  | { readonly kind: "sequence"; readonly sequence: number }
  | { readonly kind: "time"; readonly at: number }
  | { readonly kind: "last" }

/** The records of the directory that would not be there any more. Times are epoch milliseconds. */
export interface LostRecords {
  readonly first: number
  readonly last: number
  readonly firstAt: number
  readonly lastAt: number
  /** Whose erasure is undone with them: the first `restoreToldMax`, and how many they are. */
  readonly erasures: ReadonlyArray<{ readonly environment: string; readonly userId: string }>
  readonly erasureCount: number
  /** The keys that are in force again, likewise. */
  readonly revokedKeys: ReadonlyArray<string>
  readonly revokedKeyCount: number
}

export interface RestorePlan {
  readonly archive: Manifest
  readonly folder: string
  /** The last record that will be there, and when it was decided; `undefined`: there is none. */
  readonly sequence: number
  readonly at: number | undefined
  /** `undefined`: nothing is given up. */
  readonly lost: LostRecords | undefined
  /** Why it can not be told what is lost, or is known only in part. */
  readonly unknown: string | undefined
}

export interface RestorePlanOptions {
  readonly disk: Disk
  /** The journal of the data directory; it need not be there. */
  readonly journal: string
  readonly archives: ReadonlyArray<ListedArchive>
  /** The archive to begin with; `undefined`: the newest good one that leads to the target. */
  readonly id: string | undefined
  readonly target: RestoreTarget
  /** How much of the journal was read. */
  readonly progress?: (progress: JobProgress) => void
}

type Planned<A> = Effect.Effect<A, JobFailed | DiskError>

const refused = (detail: string) => new JobFailed({ kind: "refused", detail })

interface Candidate {
  readonly folder: string
  readonly archive: Manifest
}

/** Plans a restore. Fails with `refused` where there is no way to the target. */
export const planRestore = (options: RestorePlanOptions): Planned<RestorePlan> =>
  Effect.gen(function* () {
    const { disk, id, journal, target } = options
    const { archive, folder } = id === undefined ? yield* newestFor(options) : yield* named(options)
    const recordedAt = archive.recordedAt === null ? undefined : Date.parse(archive.recordedAt)
    const problem = beyond(archive, target)
    if (problem !== undefined) return yield* refused(problem)
    const fits = yield* follows(disk, journal, archive)
    if (!fits) {
      const stays = target.kind === "sequence" && target.sequence === archive.sequence
      if (target.kind !== "archive" && !stays) {
        return yield* refused(
          `The journal does not go on from archive ${archive.id}: what follows record ${archive.sequence} is of another history or gone. Restore without --to-sequence and --to-time, or choose a newer archive.`,
        )
      }
      const isThere = (yield* segmentsIn(disk, journal)).length > 0
      const unknown = isThere
        ? "The journal that is there does not go on from this archive: all of it will be given up."
        : undefined
      return {
        archive,
        folder,
        sequence: archive.sequence,
        at: recordedAt,
        lost: undefined,
        unknown,
      }
    }
    const walk = new Walk(archive.sequence, recordedAt, target)
    const from = Math.max(1, archive.sequence)
    const total = yield* bytesFrom(disk, journal, from)
    let done = 0
    const end = yield* scanJournal({ disk, folder: journal, from }, (batches) => {
      for (const { size } of batches) done += size
      options.progress?.({ activity: "Reading", done, total })
      return walk.take(batches)
    })
    const unknown = yield* walk.end(end)
    return { archive, folder, sequence: walk.kept, at: walk.keptAt, lost: walk.lost, unknown }
  })

/** What the segments take that have the record `from` or later ones. */
const bytesFrom = Effect.fnUntraced(function* (
  disk: Disk,
  folder: string,
  from: number,
): Effect.fn.Return<number, DiskError> {
  const firsts = yield* segmentsIn(disk, folder)
  let bytes = 0
  for (const first of firsts.slice(
    Math.max(
      0,
      firsts.findLastIndex((each) => each <= from),
    ),
  )) {
    bytes += yield* withFile(disk, new Segment(folder, first).path, "read", (file) => file.size)
  }
  return bytes
})

/** Why an archive does not lead to a target: it is newer. */
const beyond = ({ id, recordedAt, sequence }: Manifest, target: RestoreTarget) => {
  if (target.kind === "sequence" && target.sequence < sequence) {
    return `Archive ${id} ends with record ${sequence}, which is after record ${target.sequence}. Choose an older one.`
  }
  if (target.kind === "time" && recordedAt !== null && Date.parse(recordedAt) > target.at) {
    return `The last record of archive ${id} is of ${recordedAt}, which is after ${new Date(target.at).toISOString()}. Choose an older one.`
  }
  return undefined
}

const named = ({ archives, id }: RestorePlanOptions): Planned<Candidate> => {
  const found = archives.find((archive) => archive.id === id)
  if (found === undefined)
    return refused(`There is no archive ${id}. \`laurel snapshots list\` has all.`)
  return Result.isFailure(found.manifest)
    ? refused(`The manifest of archive ${id} ${found.manifest.failure}.`)
    : Effect.succeed({ folder: found.folder, archive: found.manifest.success })
}

const newestFor = Effect.fnUntraced(function* ({
  archives,
  disk,
  journal,
  target,
}: RestorePlanOptions): Effect.fn.Return<Candidate, JobFailed | DiskError> {
  for (const found of archives.toReversed()) {
    if (!isGood(found) || Result.isFailure(found.manifest)) continue
    const archive = found.manifest.success
    if (beyond(archive, target) !== undefined) continue
    if (yield* follows(disk, journal, archive)) return { folder: found.folder, archive }
  }
  return yield* refused(
    "No good archive leads there: each one is newer, or the journal does not go on from it. `laurel snapshots list` has all.",
  )
})

/** Whether the journal goes on from the archive's last record, or ends with it. */
const follows = Effect.fnUntraced(function* (
  disk: Disk,
  folder: string,
  { checksum, sequence }: Manifest,
): Effect.fn.Return<boolean, DiskError> {
  let found = false
  const end = yield* scanJournal(
    { disk, folder, from: Math.max(1, sequence), until: sequence + 1 },
    (batches) =>
      Effect.sync(() => {
        for (const batch of batches) {
          if (batch.firstSequence === sequence + 1) found = batch.previous === checksum
        }
      }),
  )
  return found || (end.lastSequence === sequence && end.checksum === checksum)
})

/** Goes through the journal after an archive, up to the target and on to the end. */
class Walk {
  readonly #target: RestoreTarget
  readonly #from: number
  kept: number
  keptAt: number | undefined
  #reached = false
  #lost: LostRecords | undefined

  constructor(sequence: number, recordedAt: number | undefined, target: RestoreTarget) {
    this.#from = sequence + 1
    this.#target = target
    this.kept = sequence
    this.keptAt = recordedAt
    this.#reached = target.kind === "archive"
  }

  get lost(): LostRecords | undefined {
    return this.#lost
  }

  take(batches: ReadonlyArray<SegmentBatch>): Effect.Effect<void, JobFailed> {
    for (const batch of batches) {
      const last = batch.firstSequence + batch.count - 1
      if (last < this.#from) continue
      const records = batchRecords(batch, this.#from)
      if (records === undefined) {
        return refused(`The batch from record ${batch.firstSequence} on does not add up.`)
      }
      // Most batches are kept as a whole: then only their last record is decoded.
      const newest = decodeRecord(records.at(-1)!.body)
      if (!this.#reached && this.#isKept(newest)) this.#keep(newest)
      else for (const { body } of records) this.#add(decodeRecord(body))
    }
    return Effect.void
  }

  #isKept({ at, sequence }: JournalRecord): boolean {
    const target = this.#target
    if (target.kind === "sequence") return sequence <= target.sequence
    return target.kind === "time" ? at <= target.at : target.kind === "last"
  }

  #keep({ at, sequence }: JournalRecord): void {
    this.kept = sequence
    this.keptAt = at
  }

  #add(record: JournalRecord): void {
    this.#reached ||= !this.#isKept(record)
    if (this.#reached) this.#lose(record)
    else this.#keep(record)
  }

  #lose({ at, facts, sequence, subject }: JournalRecord): void {
    this.#lost ??= {
      first: sequence,
      last: sequence,
      firstAt: at,
      lastAt: at,
      erasures: [],
      erasureCount: 0,
      revokedKeys: [],
      revokedKeyCount: 0,
    }
    const lost = { ...this.#lost, last: sequence, lastAt: at }
    for (const fact of facts) {
      if (fact.kind === "user.deleted" && subject.actor === "user") {
        const { environment, userId } = subject
        if (lost.erasureCount++ < limits.restoreToldMax) {
          lost.erasures = [...lost.erasures, { environment, userId }]
        }
      } else if (fact.kind === "key.revoked" && lost.revokedKeyCount++ < limits.restoreToldMax) {
        lost.revokedKeys = [...lost.revokedKeys, fact.keyId]
      }
    }
    this.#lost = lost
  }

  /** The journal is at its end; tells what is not known because of that. */
  end({ fault, lastSequence }: JournalEnd): Effect.Effect<string | undefined, JobFailed> {
    const target = this.#target
    const damaged = fault !== undefined && fault.kind !== "interrupted"
    const where = damaged
      ? `The journal is damaged at byte ${fault.position} of ${fault.path}, after record ${lastSequence}: ${fault.words}.`
      : undefined
    const short = target.kind === "sequence" && this.kept < target.sequence
    if (where !== undefined && !this.#reached && (short || target.kind !== "sequence")) {
      return refused(`${where} \`--to-sequence ${this.kept}\` goes back to what is whole.`)
    }
    if (short) {
      return refused(
        `The journal ends with record ${lastSequence}: there is no ${target.sequence}.`,
      )
    }
    return Effect.succeed(
      where === undefined ? undefined : `${where} What came after that can not be told.`,
    )
  }
}
