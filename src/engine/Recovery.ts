/**
 * Recovery: the snapshot, and the journal after its watermark. Users stay on disk; only their scores are
 * read, for the boards, and those users become warm whom the journal's tail touches. It is the same fold
 * as in live operation: a record is applied to every actor whose value is older than the record.
 */
import { Effect, Stream } from "effect"
import { BoardBuilder } from "../domain/Leaderboard.ts"
import type { JournalRecord, Subject } from "../domain/Record.ts"
import { duplicateKey } from "../domain/User.ts"
import { asBuffer, compositeKey, hasPrefix, keyParts, rangeOf, textAfter } from "../storage/Keys.ts"
import { Broken, type Storage } from "../storage/Storage.ts"
import { decodeValue, isWhole, valueBodyAt } from "../storage/Values.ts"
import type { AnyActor } from "./Actor.ts"
import { decodeRecord, decodeUserHeader } from "./Codec.ts"
import type { DirectoryActor, Environments, UserActor } from "./Environments.ts"
import { readActorValue } from "./History.ts"
import { type PendingRecord, pendingOf } from "./Pending.ts"
import { type SnapshotMark, snapshotKey } from "./Snapshotter.ts"

type Store = Storage["Service"]

/** What was found: all that the start log says. */
export interface RecoveryReport {
  readonly watermark: number
  readonly lastSequence: number
  readonly users: number
  readonly recordsReplayed: number
  readonly durationMs: number
}

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
  /** The warm actor of a user who is in the journal's tail. */
  readonly userActor: (environment: string, userId: string) => UserActor
  /** A record after the watermark was applied: it awaits the next snapshot. */
  readonly replayed: (pending: PendingRecord, record: JournalRecord) => void
}

export const recover = Effect.fnUntraced(function* (options: RecoveryOptions) {
  const { environments, mark, storage } = options
  const startedAt = performance.now()
  yield* loadActors(options)
  const users = yield* loadBoards(storage, environments)
  let recordsReplayed = 0
  yield* Stream.runForEach(storage.readRecords(mark.watermark + 1), (stored) =>
    Effect.gen(function* () {
      for (const { body } of stored) {
        const record = decodeRecord(body)
        const actor = yield* actorOf(options, record.subject)
        if (record.sequence > actor.kind.sequenceOf(actor.state)) {
          actor.load(actor.kind.apply(actor.state, record))
          actor.kind.committed(actor, record)
        }
        const key = duplicateKey(record.cause)
        const pending = pendingOf(actor, record, key, Buffer.from(body))
        if (key !== undefined) actor.remember(pending)
        options.replayed(pending, record)
        recordsReplayed++
      }
    }),
  )
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

/** Builds each environment's board from the numbers at the head of its users' values. */
const loadBoards = Effect.fnUntraced(function* (storage: Store, environments: Environments) {
  let users = 0
  const boards = new Map<string, BoardBuilder>()
  // Keys of one environment stand together.
  let prefix: Uint8Array = Uint8Array.of(255)
  let board = new BoardBuilder()
  const range = { table: "users", ...rangeOf(new Uint8Array()) } as const
  yield* Stream.runForEach(storage.readEntries(range), (entries) =>
    Effect.gen(function* () {
      for (const [key, stored] of entries) {
        const value = asBuffer(stored)
        if (!isWhole(value)) yield* decodeValue(value, { table: "users", key })
        if (!hasPrefix(prefix, key)) {
          const environment = keyParts(key)[0] as string
          prefix = compositeKey(environment)
          board = new BoardBuilder()
          boards.set(environment, board)
        }
        const { scoreSequence, xp } = decodeUserHeader(value, valueBodyAt)
        board.add(textAfter(prefix, key), xp, scoreSequence)
        users++
      }
    }),
  )
  for (const [environment, builder] of boards) environments.of(environment).board = builder.build()
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
