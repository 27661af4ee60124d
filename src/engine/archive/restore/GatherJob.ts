/**
 * Builds one data directory of all projects of a cluster in `restore.draft` (`ArchiveSwap`), from
 * one of each partition that has projects. Those were closed in order, so that their snapshots have
 * everything; they are not changed.
 *
 * - An entry belongs to an environment, an environment to a project, and a project to one
 *   partition: the entries of all partitions are put beside each other as they are. Records keep
 *   their numbers, which are in the ids that callers have; one environment has each number once.
 *   Environments of no project, or of another partition's, are left out.
 * - The records of each partition stay in a journal of their own beside the directory's
 *   (`GatheredJournals.ts`).
 * - The journal begins after the highest number of all, with the record that says that all projects
 *   are here. Messages to webhooks that were not sent yet belong to records before it: they are
 *   dropped, where the caller allows that.
 * - A webhook is numbered by the record that created it. Where two have the same number, one gets
 *   another.
 * - No entry may be lost or replace another: each table has as many as were written. Then the whole
 *   is checked like an archive.
 */
import path from "node:path"
import { Effect, type Scope } from "effect"
import { messageKindAt } from "../../../domain/message/Message.ts"
import {
  environmentId,
  environmentNames,
  firstPartition,
  type Project,
  partitionOf,
} from "../../../domain/project/Directory.ts"
import type { ProjectState } from "../../../domain/project/Project.ts"
import { applyDirectory } from "../../../domain/record/applyDirectory.ts"
import type { JournalRecord } from "../../../domain/record/Record.ts"
import { roomFor } from "../../../storage/archive/ArchiveCatalog.ts"
import { inDraft } from "../../../storage/archive/ArchiveSwap.ts"
import { copyFile, linkFile, segmentFilesIn } from "../../../storage/archive/Files.ts"
import {
  type Description,
  descriptionName,
  encodeDescription,
  gatheredIn,
  gatheredName,
  readDescription,
} from "../../../storage/archive/GatheredJournals.ts"
import { type DiskError, replaceFile, withFile } from "../../../storage/disk/Disk.ts"
import { nodeDisk } from "../../../storage/disk/NodeDisk.ts"
import { batchOf } from "../../../storage/Frames.ts"
import { recoverJournal } from "../../../storage/journal/JournalRecovery.ts"
import { segmentWorkOn } from "../../../storage/journal/Seal.ts"
import type { SealedFault } from "../../../storage/journal/SealedFile.ts"
import { draftPath, sealedPath } from "../../../storage/journal/SealedFormat.ts"
import { Segment } from "../../../storage/journal/SegmentFormat.ts"
import { SegmentWriter } from "../../../storage/journal/SegmentWriter.ts"
import { compositeKey, keyParts } from "../../../storage/Keys.ts"
import { openReader } from "../../../storage/lmdb/LmdbReader.ts"
import { openLmdbStore } from "../../../storage/lmdb/LmdbStore.ts"
import {
  type Broken,
  type Entry,
  type StoredEntry,
  type Table,
  tables,
  Unavailable,
  webhookTables,
} from "../../../storage/Storage.ts"
import { encodeValue, jsonOf, openValue } from "../../../storage/Values.ts"
import { encodeDirectory, encodeProject, encodeRecord } from "../../records/Codec.ts"
import { type SnapshotMark, snapshotKey } from "../../state/SnapshotMark.ts"
import type { Fault } from "../check/JournalTail.ts"
import { SavedState } from "../check/SavedState.ts"
import { verifyDraft } from "../check/Verification.ts"
import { EntryWriter } from "../jobs/EntryWriter.ts"
import { FaultList } from "../jobs/Findings.ts"
import { damaged, type JobCode, type JobContext, JobFailed, type ResultOf } from "../jobs/Jobs.ts"
import { environmentAt } from "./ProjectHistory.ts"

/* A partition whose projects are gathered (`GatherJob.ts`): which of its entries are kept, and under which keys. */

const ofWebhooks: ReadonlySet<Table> = new Set(webhookTables)

class GatheredPartition {
  readonly saved: SavedState
  readonly folder: string
  readonly number: number
  readonly #projects: ReadonlyMap<string, ProjectState>
  readonly #environments = new Set<string>()
  /** The environments that are left out. */
  readonly foreign = new Set<string>()
  /** The number of each webhook here, and the one that it gets. */
  readonly numbers = new Map<number, number>()

  constructor(folder: string, saved: SavedState) {
    this.folder = folder
    this.saved = saved
    this.number = saved.readDirectory().partition ?? firstPartition
    this.#projects = saved.readProjects()
  }

  get environments(): ReadonlySet<string> {
    return this.#environments
  }

  /** Keeps the environments of its own among all projects of the cluster. */
  choose(projects: Iterable<Project>): void {
    for (const project of projects) {
      if (partitionOf(project) !== this.number) continue
      for (const name of environmentNames) this.#environments.add(environmentId(project.id, name))
    }
    for (const { since } of this.#webhooks) this.numbers.set(since, since)
  }

  get #webhooks() {
    return this.#kept.flatMap(([, { webhooks }]) => [...webhooks.values()])
  }

  get #kept() {
    return [...this.#projects].filter(([environment]) => this.#environments.has(environment))
  }

  /** The environments with webhooks. */
  get notified(): ReadonlySet<string> {
    const found = this.#kept.filter(([, { webhooks }]) => webhooks.size > 0)
    return new Set(found.map(([environment]) => environment))
  }

  /** The entry as it is gathered; `undefined`: it is left out. */
  keeps(table: Table, [key, value]: StoredEntry): StoredEntry | undefined {
    if (table === "outbox") return undefined
    const parts = keyParts(key)
    if (ofWebhooks.has(table)) {
      const [webhook, ...rest] = parts
      const number = this.numbers.get(webhook as number)
      if (number === undefined) return undefined
      return number === webhook ? [key, value] : [compositeKey(number, ...rest), value]
    }
    const environment = parts[environmentAt[table]!]
    if (typeof environment !== "string") return undefined
    if (!this.#environments.has(environment)) {
      this.foreign.add(environment)
      return undefined
    }
    // Chunks of teams are beside the value of their project.
    const isProject = table === "actors" && parts.length === 2
    return isProject ? [key, this.#renumbered(environment, value)] : [key, value]
  }

  #renumbered(environment: string, value: Uint8Array): Uint8Array {
    const project = this.#projects.get(environment)
    const changed = [...(project?.webhooks ?? [])].filter(
      ([, { since }]) => this.numbers.get(since) !== since,
    )
    if (project === undefined || changed.length === 0) return value
    const webhooks = new Map(
      Array.from(project.webhooks, ([id, webhook]) => [
        id,
        { ...webhook, since: this.numbers.get(webhook.since)! },
      ]),
    )
    return encodeValue(encodeProject({ ...project, webhooks }))
  }
}

/** Opens a data directory that was closed in order. */
const openGathered = Effect.fnUntraced(function* (
  folder: string,
  fault: Fault,
): Effect.fn.Return<GatheredPartition, DiskError | JobFailed, Scope.Scope> {
  const saved = yield* SavedState.open({ folder, fault })
  const { lastSequence, watermark } = saved
  if (watermark === lastSequence) return new GatheredPartition(folder, saved)
  const detail = `The snapshot of ${folder} goes up to record ${watermark}, its journal to ${lastSequence}`
  return yield* new JobFailed({ kind: "refused", detail })
})

/**
 * The number of messages that wait to be sent. Fails where messages are not made yet, or a job is
 * unfinished: a server does that soon.
 */
const pendingIn = Effect.fnUntraced(function* ({
  notified,
  number,
  numbers,
  saved,
}: GatheredPartition): Effect.fn.Return<number, DiskError | JobFailed> {
  if (numbers.size === 0) return 0
  const isKept = (endpoint: unknown) => numbers.has(endpoint as number)
  let unfinished = 0
  for (const [key, value] of saved.entries("outbox")) {
    if (keyParts(key)[0] !== "job") continue
    const { endpoint, kind } = contentOf(value) as { kind: string; endpoint?: number }
    if (kind === "erase" || (kind === "recover" && isKept(endpoint))) unfinished++
  }
  const cursor = saved.get("outbox", compositeKey("cursor"))
  const from = Math.max(Number(cursor === undefined ? 0 : contentOf(cursor)), oldestOf(numbers)) + 1
  const isUnmade = (record: JournalRecord): boolean =>
    record.subject.actor !== "directory" &&
    notified.has(record.subject.environment) &&
    record.facts.some((_, index) => messageKindAt(record, index) !== undefined)
  yield* saved.eachRecord(from, {
    record: ({ record }) => {
      if (isUnmade(record)) unfinished++
    },
  })
  if (unfinished > 0) {
    const detail = `The webhooks of partition ${number} have ${unfinished} records to take yet. Start the servers, and stop them in order`
    return yield* new JobFailed({ kind: "refused", detail })
  }
  let pending = 0
  for (const [key] of saved.entries("due")) if (isKept(keyParts(key)[0])) pending++
  return pending
})

const oldestOf = (numbers: ReadonlyMap<number, number>): number => Math.min(...numbers.keys())

const contentOf = (value: Uint8Array): unknown => {
  const body = openValue(value)
  if (typeof body !== "string") return jsonOf(body)
  throw new JobFailed({ kind: "damaged", detail: `A value of table outbox ${body}` })
}

export const gatherPartitions: JobCode<"gather"> = (input, context) =>
  inDraft(nodeDisk, input.directory, (draft) => fill(input, draft, context))

type Gathering = Parameters<JobCode<"gather">>[0]

const fill = Effect.fnUntraced(function* (
  { at, directory, dropPending, folders }: Gathering,
  draft: string,
  context: JobContext,
): Effect.fn.Return<ResultOf<"gather">, unknown, Scope.Scope> {
  const faults = new FaultList()
  const all = yield* Effect.forEach(folders, (folder) => openGathered(folder, faults.add))
  const whole = all[0]!.saved.readDirectory()
  for (const one of all) one.choose(whole.projects.values())
  if (faults.count > 0) return yield* damaged(faults.summary)
  const missing = [...whole.projects.values()].find(
    (project) => !all.some(({ number }) => number === partitionOf(project)),
  )
  if (missing !== undefined) {
    return yield* refused(`The data directory of partition ${partitionOf(missing)} is missing`)
  }
  const waiting = yield* Effect.forEach(all, pendingIn)
  const pending = waiting.reduce((sum, each) => sum + each, 0)
  if (pending > 0 && !dropPending) {
    return yield* refused(
      `${pending} messages to webhooks wait to be sent, and would be dropped. Start the servers until they are sent, or drop them with --drop-pending`,
    )
  }
  const sizes = yield* Effect.forEach(folders, (folder) =>
    withFile(nodeDisk, path.join(folder, "live", "data.mdb"), "read", ({ size }) => size),
  )
  const free = yield* nodeDisk.freeBytes(directory)
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  if (free < roomFor(bytes))
    return yield* new Unavailable({ operation: "gather", reason: "disk_full" })

  const sequence = renumber(all) + 1
  const latest = Math.max(...all.map(({ saved }) => saved.tail.lastAt ?? 0))
  const record: JournalRecord = {
    sequence,
    at: Math.max(at, latest),
    subject: { actor: "directory" },
    cause: { kind: "request" },
    facts: [{ kind: "projects.gathered" }],
  }
  const own: ReadonlyArray<Entry> = [
    entry("meta", snapshotKey, markAt(record)),
    {
      table: "actors",
      key: compositeKey("directory"),
      value: encodeValue(encodeDirectory(applyDirectory(whole, record))),
    },
    entry("outbox", compositeKey("cursor"), sequence),
  ]
  yield* writeLive(path.join(draft, "live"), all, own, context)
  yield* writeJournal(path.join(draft, "journal"), record)
  yield* gatherJournals(draft, all)
  for (const name of ["live", "journal", "."]) yield* nodeDisk.syncFolder(path.join(draft, name))
  const { faults: found, findings } = yield* verifyDraft(draft, context)
  if (found.count > 0) {
    return yield* damaged(`The gathered data would fail its check: ${found.summary}`)
  }
  const left = all.reduce((sum, { foreign }) => sum + foreign.size, 0)
  return { ...findings, sequence, left, dropped: pending }
})

const refused = (detail: string) => new JobFailed({ kind: "refused", detail })

const entry = (table: Table, key: Uint8Array, json: unknown): Entry => ({
  table,
  key,
  value: encodeValue(JSON.stringify(json)),
})

const markAt = ({ at, sequence }: JournalRecord): SnapshotMark => ({
  watermark: sequence,
  at,
})

/** Gives each webhook a number of its own; returns the highest number of a record or webhook. */
const renumber = (all: ReadonlyArray<GatheredPartition>): number => {
  let highest = Math.max(...all.map(({ saved }) => saved.lastSequence))
  const taken = new Set<number>()
  for (const { numbers } of all) {
    for (const number of numbers.keys()) {
      if (taken.has(number)) numbers.set(number, ++highest)
      taken.add(number)
    }
  }
  return highest
}

const writeLive = Effect.fnUntraced(function* (
  live: string,
  all: ReadonlyArray<GatheredPartition>,
  own: ReadonlyArray<Entry>,
  { progress }: JobContext,
): Effect.fn.Return<void, unknown> {
  const total = all.reduce((sum, { saved }) => sum + saved.totalEntries, 0)
  const written = new Map<Table, number>()
  const count = (table: Table) => written.set(table, (written.get(table) ?? 0) + 1)
  let done = 0
  const entries = function* (): Generator<Entry> {
    for (const each of own) {
      count(each.table)
      yield each
    }
    for (const one of all) {
      for (const table of tables) {
        for (const stored of one.saved.entries(table)) {
          done++
          const kept = one.keeps(table, stored)
          if (kept === undefined) continue
          count(table)
          yield { table, key: kept[0], value: kept[1] }
        }
      }
    }
  }
  yield* Effect.scoped(
    Effect.gen(function* () {
      const { writeEntries } = yield* openLmdbStore({ folder: live })
      const writer = new EntryWriter((slice) =>
        Effect.tap(writeEntries(slice), () =>
          Effect.sync(() => progress({ activity: "Gathering", done, total })),
        ),
      )
      yield* writer.writeAll(entries())
    }),
  )
  yield* Effect.scoped(
    Effect.flatMap(openReader(live), (reader) =>
      Effect.forEach(tables, (table) => {
        const [found, expected] = [reader.count(table), written.get(table) ?? 0]
        return found === expected
          ? Effect.void
          : damaged(`The table ${table} has ${found} entries, ${expected} were written`)
      }),
    ),
  )
})

const writeJournal = (folder: string, record: JournalRecord) =>
  Effect.gen(function* () {
    const after = { lastSequence: record.sequence - 1, checksum: 0 }
    const writer = new SegmentWriter({ disk: nodeDisk, folder, after })
    yield* writer.write(batchOf(record.sequence, [Buffer.from(encodeRecord(record))]))
    yield* writer.end
  })

/** Puts the journals of the partitions beside the directory's own (`GatheredJournals.ts`). */
const gatherJournals = Effect.fnUntraced(function* (
  draft: string,
  all: ReadonlyArray<GatheredPartition>,
): Effect.fn.Return<void, Broken | DiskError | SealedFault> {
  let number = 0
  const put = (from: string, { environments, through }: Omit<Description, "format">) =>
    environments.length === 0 || through === 0
      ? Effect.void
      : putGathered(from, path.join(draft, gatheredName, String(++number)), {
          ...{ format: 1, environments, through },
        })
  for (const { environments, folder, saved } of all) {
    for (const name of yield* gatheredIn(nodeDisk, folder)) {
      const from = path.join(folder, name)
      const { through, ...described } = yield* readDescription(nodeDisk, from)
      const own = described.environments.filter((environment) => environments.has(environment))
      yield* put(from, { through, environments: own })
    }
    const through = saved.lastSequence
    yield* put(path.join(folder, "journal"), { through, environments: [...environments] })
  }
})

/**
 * Links the sealed segments of a journal into the new folder `to`, and seals copies of those that
 * are plain.
 */
const putGathered = Effect.fnUntraced(function* (
  from: string,
  to: string,
  description: Description,
): Effect.fn.Return<void, Broken | DiskError | SealedFault> {
  yield* nodeDisk.makeFolder(to)
  for (const { isSealed, name } of yield* segmentFilesIn(from)) {
    const [source, target] = [path.join(from, name), path.join(to, name)]
    const isLinked = isSealed && (yield* linkFile(source, target))
    if (!isLinked) yield* copyFile(source, target, name, () => {})
  }
  const { lastSequence, segments } = yield* recoverJournal(nodeDisk, to)
  for (const [n, segment] of segments.entries()) {
    if (!(segment instanceof Segment)) continue
    const { end, firstSequence } = segment
    const last = (segments[n + 1]?.firstSequence ?? lastSequence + 1) - 1
    const full = { folder: to, firstSequence, end, lastSequence: last }
    yield* segmentWorkOn(nodeDisk)({ kind: "seal", segment: full })
    yield* nodeDisk.rename(draftPath(to, firstSequence), sealedPath(to, firstSequence))
    yield* nodeDisk.remove(segment.path)
  }
  yield* replaceFile(nodeDisk, to, descriptionName, encodeDescription(description))
  yield* nodeDisk.syncFolder(to)
  yield* nodeDisk.syncFolder(path.dirname(to))
})
