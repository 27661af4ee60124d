/**
 * Recovery: the snapshot, and the journal after its watermark. Users stay on disk; only the heads of their
 * values are read, for boards and agenda, and those users become warm whom the journal's tail touches. It is the same fold
 * as in live operation: a record is applied to every actor whose value is older than the record.
 */

import { Effect, Stream } from "effect"
import { ListedTwice } from "../../domain/board/ScoreOrder.ts"
import { duplicateKey, type JournalRecord, type Subject } from "../../domain/record/Record.ts"
import { windowKinds } from "../../domain/values/Calendar.ts"
import type { EntryBlock } from "../../storage/EntryBlock.ts"
import {
  compositeKey,
  hasPrefix,
  keyParts,
  lastTextEnd,
  lastTextStart,
  rangeOf,
} from "../../storage/Keys.ts"
import { Broken, type Storage } from "../../storage/Storage.ts"
import { DamagedValue, decodeValue, firstDamaged, valueBodyAt } from "../../storage/Values.ts"
import type { AnyActor } from "../actor/Actor.ts"
import { loadCounts } from "../actor/Counts.ts"
import type { DirectoryActor, Environments, UserActor } from "../actor/Environments.ts"
import { readWindows } from "../boards/StoredBoard.ts"
import { hashText } from "../dedupe/BloomFilter.ts"
import { decodeRecord } from "../records/Codec.ts"
import type { PendingRecords } from "../records/PendingRecords.ts"
import { readActorValue } from "../records/SnapshotValues.ts"
import { type SnapshotMark, snapshotKey } from "../snapshot/SnapshotMark.ts"
import { BoardLoader } from "./BoardLoader.ts"

type Store = Storage["Service"]

/** What was found: all that the start log says. */
export interface RecoveryReport {
  readonly watermark: number
  readonly lastSequence: number
  readonly users: number
  readonly recordsReplayed: number
  readonly durationMs: number
}

/** What recovery is at: how many users were read, or how many records were replayed, and of how many. */
export type RecoveryProgress =
  | { readonly stage: "users"; readonly done: number }
  | { readonly stage: "journal"; readonly done: number; readonly total: number }

const noSnapshot: SnapshotMark = { watermark: 0, at: 0, journal: [] }

/** The snapshot's own account of itself, checked against the journal. */
export const readMark = Effect.fnUntraced(function* (storage: Store) {
  const place = { table: "meta", key: snapshotKey } as const
  const value = yield* storage.readEntry(place.table, place.key)
  if (value === undefined) return noSnapshot
  const mark: SnapshotMark = JSON.parse(
    Buffer.from(yield* decodeValue(value, place)).toString("utf8"),
  )
  if (storage.lastSequence < mark.watermark) {
    const cause =
      `The snapshot goes up to record ${mark.watermark}, but the journal ends at ` +
      `${storage.lastSequence}: journal segments are missing. Put them back, or restore an archive.`
    return yield* new Broken({ operation: "recover", cause })
  }
  return mark
})

export interface RecoveryOptions {
  readonly storage: Store
  readonly environments: Environments
  readonly directory: DirectoryActor
  readonly mark: SnapshotMark
  /** Empty, after the watermark. */
  readonly pending: PendingRecords
  /** The warm actor of a user who is in the journal's tail. */
  readonly userActor: (environment: string, userId: string) => UserActor
  /** A record after the watermark was applied: it awaits the next snapshot. `hash` is that of its name, if it has one. */
  readonly replayed: (actor: AnyActor, record: JournalRecord, hash: number | undefined) => void
  /** Called every few milliseconds. */
  readonly progressed: (progress: RecoveryProgress) => void
}

export const recover = Effect.fnUntraced(function* (options: RecoveryOptions) {
  const { environments, mark, pending, storage } = options
  const startedAt = performance.now()
  yield* loadActors(options)
  yield* loadCounts(storage, (environment) => environments.of(environment).counts)
  for (const { gaps, place, window } of yield* readWindows(storage)) {
    const { environment, index, kind } = place
    environments.of(environment).boards.windows[kind].load(index, window, gaps)
  }
  const users = yield* loadBoards(storage, environments, (done) =>
    options.progressed({ stage: "users", done }),
  )
  let recordsReplayed = 0
  const total = storage.lastSequence - mark.watermark
  yield* Stream.runForEach(storage.readRecords(mark.watermark + 1), (stored) =>
    Effect.gen(function* () {
      for (const { body } of stored) {
        const record = decodeRecord(body)
        const actor = yield* actorOf(options, record.subject)
        if (record.sequence > actor.kind.sequenceOf(actor.state)) {
          actor.load(actor.kind.apply(actor.state, record))
          actor.kind.committed(actor, record)
        } else if (record.subject.actor !== "directory") {
          environments.of(record.subject.environment).boards.passOver(record)
        }
        const key = duplicateKey(record.cause)
        const hash = key === undefined ? undefined : hashText(key, actor.idSeed)
        pending.texts.keep(body)
        pending.link(actor, hash)
        options.replayed(actor, record, hash)
        recordsReplayed++
      }
      options.progressed({ stage: "journal", done: recordsReplayed, total })
    }),
  )
  for (const { boards, project } of environments) {
    for (const kind of windowKinds)
      boards.windows[kind].dropThrough(project.durable.closedThrough[kind])
  }
  const report: RecoveryReport = {
    watermark: mark.watermark,
    lastSequence: storage.lastSequence,
    users,
    recordsReplayed,
    durationMs: Math.round(performance.now() - startedAt),
  }
  return report
})

const loadActors = Effect.fnUntraced(function* (options: RecoveryOptions) {
  const { directory, environments, storage } = options
  directory.load(directory.kind.empty)
  const range = { table: "actors", ...rangeOf(new Uint8Array()) } as const
  yield* Stream.runForEach(storage.readEntries(range), (entries) =>
    Effect.gen(function* () {
      for (const [key, value] of entries) {
        const body = yield* decodeValue(value, { table: "actors", key })
        const [kind, id] = keyParts(key) as [string, string]
        const actor: AnyActor = kind === "directory" ? directory : environments.of(id).project
        actor.load(actor.kind.decode(body))
      }
    }),
  )
})

/** Whole values do not tell of it: a page that is damaged can lead to one of them from two places. */
const listedTwice = new Broken({
  operation: "read",
  cause: new DamagedValue("Table users has two values of the same user"),
})

/** Builds each environment's boards and agenda from the numbers at the heads of its users' values. */
const loadBoards = Effect.fnUntraced(function* (
  storage: Store,
  environments: Environments,
  progressed: (users: number) => void,
) {
  let users = 0
  const loaders: Array<BoardLoader> = []
  // Keys of one environment stand together.
  let prefix: Uint8Array = Uint8Array.of(255)
  let loader: BoardLoader | undefined
  const isOf = (block: EntryBlock, n: number): boolean =>
    hasPrefix(prefix, block.keys, block.keyStart(n), block.keyEnd(n))
  const add = (block: EntryBlock): void => {
    // So when the first and the last key are of one, all are.
    const isOfOne = isOf(block, 0) && isOf(block, block.count - 1)
    for (let n = 0; n < block.count; n++) {
      const start = block.keyStart(n)
      const end = block.keyEnd(n)
      if (loader === undefined || (!isOfOne && !isOf(block, n))) {
        const environment = keyParts(block.key(n))[0] as string
        prefix = compositeKey(environment)
        loader = new BoardLoader(environments.of(environment))
        loaders.push(loader)
      }
      loader.add(
        block.keys,
        start + lastTextStart(prefix),
        lastTextEnd(end),
        block.valuesView,
        block.valueStart(n) + valueBodyAt,
      )
    }
    users += block.count
    progressed(users)
  }
  const range = { table: "users", ...rangeOf(new Uint8Array()) } as const
  yield* Stream.runForEach(storage.readBlocks(range), (block) => {
    const damaged = firstDamaged(block)
    if (damaged >= 0) {
      return decodeValue(block.value(damaged), { table: "users", key: block.key(damaged) })
    }
    add(block)
    return Effect.void
  })
  for (const loader of loaders) {
    yield* Effect.try({ try: () => loader.finish(), catch: (error) => error }).pipe(
      Effect.catch((error) =>
        error instanceof ListedTwice ? Effect.fail(listedTwice) : Effect.die(error),
      ),
    )
  }
  return users
})

const actorOf = Effect.fnUntraced(function* (options: RecoveryOptions, subject: Subject) {
  switch (subject.actor) {
    case "directory":
      return options.directory as AnyActor
    case "project":
      return options.environments.of(subject.environment).project as AnyActor
    case "user": {
      const actor: AnyActor = options.userActor(subject.environment, subject.userId)
      if (!actor.loaded) {
        const value = yield* readActorValue(options.storage, subject)
        actor.load(value === undefined ? actor.kind.empty : actor.kind.decode(value))
      }
      return actor
    }
  }
})
