/**
 * Checks that a data directory or an archive is consistent:
 *
 * - every value's checksum and format, every key, every batch of the journal and its link to the
 *   one before;
 * - every user's state: the fold of the user's records (`FoldCheck.ts`). So the check finds a lost,
 *   stale or foreign value or record;
 * - sums: xp and points record by record, counts of users and quests, leaderboards;
 * - references: between callers' ids and records, and between kept answers and their expiry;
 *   environments and keys belong to existing projects, the tables of webhooks agree
 *   (`WebhookCheck.ts`). The projects of a partition other than the first are in that one's data,
 *   and are not looked for.
 *
 * Of an archive in creation it checks what is new since its base: each user is the base's with the
 * records since. What an archive is by then rests on the checks of those before it, back to the one
 * that checked everything; `laurel snapshots verify` always does.
 *
 * It uses only the domain (`applyUser`) and the codecs, so new facts need no change here. Memory:
 * that of `FoldCheck.ts`, and the boards; time: about that of decoding every record once.
 */

import path from "node:path"
import { Effect, Result, type Scope } from "effect"
import { environmentId, environmentNames } from "../../../domain/project/Directory.ts"
import { duplicateKey } from "../../../domain/record/Record.ts"
import { remainsOf } from "../../../domain/record/Remains.ts"
import { limits } from "../../../Limits.ts"
import {
  decodeManifestText,
  manifestBytesMax,
  manifestName,
} from "../../../storage/archive/ArchiveManifest.ts"
import { checkFiles } from "../../../storage/archive/Files.ts"
import { type DiskError, isMissing, readSmallFile, removeTree } from "../../../storage/disk/Disk.ts"
import { nodeDisk } from "../../../storage/disk/NodeDisk.ts"
import { remainsIn } from "../../../storage/Frames.ts"
import { damageOf, faultText } from "../../../storage/journal/JournalScan.ts"
import { compositeKey, keyParts } from "../../../storage/Keys.ts"
import type { Table } from "../../../storage/Storage.ts"
import { keyName, openValue, valueFault } from "../../../storage/Values.ts"
import { yieldToEventLoop } from "../../../storage/yieldToEventLoop.ts"
import { FaultList, type Findings } from "../jobs/Findings.ts"
import { damaged, durableEnd, type JobCode, type JobContext, type JobFailed } from "../jobs/Jobs.ts"
import type { Base } from "./Base.ts"
import { FoldCheck, nameOf, type UserRecord } from "./FoldCheck.ts"
import { IdCheck } from "./IdCheck.ts"
import { SavedState, type SavedStateOptions } from "./SavedState.ts"
import { BoardCheck, CountsCheck } from "./UserCheck.ts"
import { WebhookCheck } from "./WebhookCheck.ts"

export interface Verified {
  readonly faults: FaultList
  readonly findings: Findings
  readonly saved: SavedState
}

type Progress = (done: number, total: number) => void

/**
 * Tables whose checksums alone this file checks; `CountsCheck` and `WebhookCheck` read some of
 * them.
 */
const plainTables = [
  "meta",
  "userIds",
  "teamMembers",
  "boards",
  "erasures",
  "outbox",
  "endpoints",
  "deliveries",
  "due",
  "attempts",
] as const satisfies ReadonlyArray<Table>

export interface VerifyOptions extends Omit<SavedStateOptions, "fault" | "onScanning"> {
  /** Check only what is new since this archive. */
  readonly base?: Base | undefined
}

/** Opens a data directory or an archive for the surrounding scope, and checks it. */
export const verify = Effect.fnUntraced(function* (
  { base, ...options }: VerifyOptions,
  { progress }: JobContext,
  faults: FaultList = new FaultList(),
): Effect.fn.Return<Verified, DiskError | JobFailed, Scope.Scope> {
  const checking = (done: number, total: number) => progress({ activity: "Checking", done, total })
  const saved = yield* SavedState.open({ ...options, fault: faults.add, onScanning: checking })
  const findings = yield* new Check(saved, faults, checking, base).run
  return { faults, findings, saved }
})

/** `verify` for a draft of a data directory, which it leaves as it was. */
export const verifyDraft = (
  draft: string,
  context: JobContext,
): Effect.Effect<Verified, DiskError | JobFailed> =>
  Effect.ensuring(Effect.scoped(verify({ folder: draft }, context)), withoutLock(draft))

/** Removes the lock that LMDB leaves beside an opened database. */
export const withoutLock = (folder: string): Effect.Effect<void> =>
  Effect.ignore(removeTree(nodeDisk, path.join(folder, "live", "lock.mdb")))

class Check {
  readonly #saved: SavedState
  readonly #faults: FaultList
  readonly #progress: Progress
  readonly #base: Base | undefined
  readonly #environments = new Set<string>()
  readonly #boards = new BoardCheck()
  readonly #counts = new CountsCheck()
  readonly #idCheck: IdCheck
  /** Up to here callers' ids are not compared with records. */
  readonly #known: number
  /** The last erasure of each user who was erased. */
  readonly #erasures = new Map<string, number>()
  #users = 0
  #answers = 0
  #xp = 0n

  constructor(saved: SavedState, faults: FaultList, progress: Progress, base: Base | undefined) {
    this.#saved = saved
    this.#faults = faults
    this.#progress = progress
    this.#base = base
    this.#known = base?.manifest.sequence ?? saved.firstSequence - 1
    this.#idCheck = new IdCheck(faults.add, saved.lastSequence, saved.watermark, this.#known)
  }

  readonly run = Effect.gen({ self: this }, function* () {
    const { fault } = this
    const damage = damageOf(this.#saved.tail.end)
    if (damage !== undefined) fault(faultText(damage))
    yield* this.#checkUsers
    yield* this.#checkIds
    yield* this.#checkAnswers
    const shared = this.#checkShared()
    for (const table of plainTables) {
      for (const [key, value] of this.#saved.entries(table)) this.#checkValue(table, key, value)
    }
    this.#counts.end(fault)
    new WebhookCheck(this.#saved, fault).run(this.#saved.readProjects())
    yield* this.#boards.end(fault)
    const findings: Findings = {
      counts: {
        ...shared,
        users: this.#users,
        records: this.#saved.lastSequence - this.#saved.firstSequence + 1,
        ids: this.#idCheck.count,
        answers: this.#answers,
      },
      sums: { xp: String(this.#xp) },
      faults: this.#faults.shown,
      faultCount: this.#faults.count,
    }
    return findings
  })

  get fault(): (words: string) => void {
    return this.#faults.add
  }

  readonly #checkUsers = Effect.suspend(() => {
    this.#counts.load(this.#saved)
    const check = new FoldCheck({
      saved: this.#saved,
      base: this.#base,
      fault: this.fault,
      progress: this.#progress,
      onRecord: (record, isLost) => this.#checkRecord(record, isLost),
      onReplaced: (environment, state) => this.#counts.replaced(environment, state),
      onErased: (sequence) => this.#idCheck.erased(sequence),
      onLateErased: (record) => {
        const remains = remainsIn(record)
        if (remains !== undefined) this.#counts.left(remains)
      },
      onUser: (environment, state) => {
        this.#environments.add(environment)
        this.#users++
        this.#xp += BigInt(state.xp)
        this.#boards.add(environment, state)
        this.#counts.add(environment, state)
      },
    })
    return check.run
  })

  /**
   * Notes a record's caller's id for the index, and counts the record, or what it leaves, if the stored counts
   * lack it.
   */
  #checkRecord(record: UserRecord, isLost: boolean): void {
    const { cause, sequence, subject } = record
    const { environment, userId } = subject
    if (cause.kind === "erasure") this.#erasures.set(nameOf(subject), sequence)
    if (isLost) {
      const remains = remainsOf(record)
      if (remains !== undefined) this.#counts.left(remains)
    } else if (sequence > this.#saved.watermark) this.#counts.fold(environment, record)
    const id = duplicateKey(cause)
    if (id !== undefined) this.#idCheck.record(environment, userId, id, sequence)
  }

  readonly #checkIds = Effect.gen({ self: this }, function* () {
    let done = 0
    for (const entry of this.#saved.entries("eventIds")) {
      this.#idCheck.entry(entry)
      if (++done % 100 === 0) yield* yieldToEventLoop
    }
    if (this.#erasures.size > 0) yield* this.#forgiveErased
    this.#idCheck.end()
  })

  /** The ids of an erased user may be gone before the records are. */
  readonly #forgiveErased = Effect.suspend(() =>
    this.#saved.eachRecord(this.#known + 1, {
      record: ({ record: { cause, sequence, subject } }) => {
        if (subject.actor !== "user" || !this.#idCheck.isMissing(sequence)) return
        if (sequence >= (this.#erasures.get(nameOf(subject)) ?? 0)) return
        const { environment, userId } = subject
        this.#idCheck.forgive(environment, userId, duplicateKey(cause)!, sequence)
      },
    }),
  )

  readonly #checkAnswers = Effect.gen({ self: this }, function* () {
    for (const { record, stored } of this.#saved.kept()) {
      const { kept, sequence, subject } = record
      if (kept === undefined || subject.actor === "directory") {
        this.fault(`The kept answer of record ${sequence} has no key`)
        continue
      }
      const first = compositeKey(subject.environment, kept.key, 0)
      if (stored || this.#saved.get("idempotency", first) === undefined) this.#answers++
      if (!stored) continue
      this.#environments.add(subject.environment)
      const due = record.at + limits.idempotencyRetentionMs
      const expiry = compositeKey(due, subject.environment, kept.key)
      // Ahead of the watermark, entries may be incomplete.
      if (sequence > this.#saved.watermark) continue
      if (this.#saved.get("expiry", expiry) === undefined) {
        this.fault(`The kept answer of record ${sequence} would never expire`)
      }
      if (this.#answers % 1_000 === 0) yield* yieldToEventLoop
    }
    for (const [key, value] of this.#saved.entries("expiry")) {
      this.#checkValue("expiry", key, value)
      const first = firstPieceOf(key)
      if (first === undefined || this.#saved.get("idempotency", first) === undefined) {
        this.fault(`${keyName(key)} of table expiry belongs to no kept answer`)
      }
    }
  })

  #checkValue(table: Table, key: Uint8Array, value: Uint8Array): void {
    const body = openValue(value)
    if (typeof body === "string") this.fault(valueFault(table, key, body))
  }

  /** Checks shared data: definitions and keys belong to projects, in a partition that has any. */
  #checkShared(): Record<string, number> {
    const directory = this.#saved.readDirectory()
    const { partition } = directory
    const projects = this.#saved.readProjects()
    const known = new Set<string>()
    if (partition !== undefined && directory.projects.size + directory.keys.size > 0) {
      this.fault(`Partition ${partition} has projects or keys of its own`)
    }
    for (const { id } of directory.projects.values()) {
      for (const name of environmentNames) known.add(environmentId(id, name))
    }
    const environments = this.#environments.union(new Set(projects.keys()))
    for (const environment of environments) {
      if (partition !== undefined) break
      if (!known.has(environment)) this.fault(`The environment ${environment} is of no project`)
    }
    for (const { id, projectId } of directory.keys.values()) {
      if (!directory.projects.has(projectId)) this.fault(`The key ${id} is of no project`)
    }
    const { lastSequence } = this.#saved
    for (const { sequence } of [directory, ...projects.values()]) {
      if (sequence <= lastSequence) continue
      this.fault(`There is a record ${sequence}, but the journal ends with ${lastSequence}`)
    }
    return {
      projects: directory.projects.size,
      keys: directory.keys.size,
      environments: environments.size,
    }
  }
}

/** The first key of the answer that an entry of `expiry` will remove. */
const firstPieceOf = (expiry: Uint8Array): Uint8Array | undefined => {
  try {
    const [, environment, name] = keyParts(expiry)
    return compositeKey(environment!, name!, 0)
  } catch {
    return undefined
  }
}

/* Check a data directory, also beside its server, or an archive. */

export const verifyLive: JobCode<"verifyLive"> = Effect.fnUntraced(function* (
  { directory },
  context,
) {
  // Asked after the snapshot is pinned: the journal must reach beyond everything in it.
  const until = durableEnd(context)
  const { findings, saved } = yield* verify({ folder: directory, until }, context)
  const { lastSequence, watermark } = saved
  const end = saved.tail.end.fault
  const interrupted = end?.kind === "interrupted" ? end.words : null
  return { ...findings, sequence: lastSequence, watermark, interrupted }
})

export const verifyArchive: JobCode<"verifyArchive"> = Effect.fnUntraced(function* (
  { folder },
  context,
) {
  const manifest = yield* readSmallFile(
    nodeDisk,
    path.join(folder, manifestName),
    manifestBytesMax,
  ).pipe(
    Effect.map(decodeManifestText),
    Effect.catchIf(isMissing, () => Effect.succeed(Result.fail("is missing"))),
  )
  if (Result.isFailure(manifest)) {
    return yield* damaged(`The manifest of ${folder} ${manifest.failure}`)
  }
  const { checksum, counts, sequence, sums } = manifest.success
  const faults = new FaultList()
  yield* checkFiles(folder, manifest.success, faults.add, (done, total) =>
    context.progress({ activity: "Hashing", done, total }),
  )
  // LMDB does not survive foreign pages.
  if (faults.count > 0) return unread(faults)
  yield* Effect.addFinalizer(() => withoutLock(folder))
  const { findings, saved } = yield* verify({ folder }, context, faults)
  if (saved.lastSequence !== sequence || saved.tail.end.checksum !== checksum) {
    faults.add(`The journal ends with record ${saved.lastSequence}, the manifest says ${sequence}`)
  }
  const expected = { ...counts, ...sums }
  const actual: Record<string, unknown> = { ...findings.counts, ...findings.sums }
  for (const [name, value] of Object.entries(expected)) {
    if (actual[name] !== value) {
      faults.add(`There should be ${value} ${name}, there are ${actual[name]}`)
    }
  }
  return { ...findings, faults: faults.shown, faultCount: faults.count }
})

const unread = (faults: FaultList): Findings => ({
  counts: {},
  sums: {},
  faults: faults.shown,
  faultCount: faults.count,
})
