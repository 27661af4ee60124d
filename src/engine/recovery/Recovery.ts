/**
 * Recovery: loads the snapshot, then applies the records of the journal after its watermark.
 *
 * Invariants:
 * - The result is the state that live operation had after the last record in the journal: the fold
 *   of `apply` over snapshot and journal.
 * - The counts and the projects are as of the watermark. A user's state and a stored board may be newer, if a
 *   later snapshot was interrupted. So a record is applied to its actor only if the actor's value
 *   is older than the record, but it always passes the commit stages up to `erasure`.
 * - Records come in sequence, without gaps (asserted). A record out of sequence ends the start as
 *   damage: nothing is applied after it.
 *
 * A start, step by step. The snapshot has the watermark 100; the next one was interrupted after it
 * had written Bob's bucket as of record 103. The journal ends with record 104:
 *
 * 1. The storage opens. It cuts the torn record 105 off the journal; `lastSequence` is 104.
 * 2. `loadActors` reads the directory and the projects. The project `p` has a value as of record
 *    97.
 * 3. `loadCounts` reads how many users, events and so on there were at record 100, and
 *    `readWindows` the boards that are stored.
 * 4. `loadUsers` reads the buckets, and the head of each state in them. Ada, 50 xp by record 95,
 *    and Bob, 80 xp by record 103, get their places on the boards. No actor is made.
 * 5. Record 101, an event of Ada, 10 xp: her state is decoded. 101 > 95, so the record is applied:
 *    60 xp. The boards follow, and the counts have one event more.
 * 6. Record 102, a new rule in `p`: 102 > 97, so it is applied to the project's actor.
 * 7. Record 103, an event of Bob: his state is as of 103, so the record is not applied again. The
 *    counts have one event more: those of the snapshot were as of 100.
 * 8. Record 104, the erasure of Ada: it is applied. Her state is gone, she leaves the boards, and a
 *    tombstone hides her records up to 104 (`Erasures`) until a snapshot has deleted them.
 * 9. The records 101 to 104 await the next snapshot (`PendingRecords`), and their ids are in the
 *    filter of known ids. The next record gets the sequence 105.
 *
 * Cost: a copy of each bucket and a read of the head of each state, with nothing allocated for a
 * user but numbers in typed arrays; a record costs about what it cost live.
 */

import { Effect, Stream } from "effect"
import { BoardBuilder } from "../../domain/board/Leaderboard.ts"
import { ListedTwice } from "../../domain/board/ScoreOrder.ts"
import { closeOf } from "../../domain/project/BoardClose.ts"
import { duplicateKey, type JournalRecord, type Subject } from "../../domain/record/Record.ts"
import { timedWindows, type WindowKind, windowKinds } from "../../domain/values/Calendar.ts"
import { limits } from "../../Limits.ts"
import { remainsIn, tombstoneOf } from "../../storage/Frames.ts"
import { compositeKey, everyKey, hasPrefix, keyParts, rangeOf } from "../../storage/Keys.ts"
import { Broken, Damaged, type StoredRecord } from "../../storage/Storage.ts"
import {
  checksumOf,
  DamagedValue,
  decodeValue,
  eachBody,
  firstDamaged,
  wholeBody,
} from "../../storage/Values.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { AnyActor } from "../actor/Actor.ts"
import { fillBoards, fillCohorts } from "../actor/BoardFills.ts"
import { loadCounts } from "../actor/Counts.ts"
import type { Environment, UserActor } from "../actor/Environments.ts"
import { loadGoals } from "../actor/GoalRows.ts"
import { loadUser } from "../actor/Supervisor.ts"
import { loadAnnouncedRanks } from "../boards/AnnouncedRanks.ts"
import type { FurtherBoards } from "../boards/FurtherBoards.ts"
import { readWindows } from "../boards/StoredBoard.ts"
import { loadTeamScores } from "../boards/TeamScores.ts"
import { CommitPipeline } from "../commit/GroupCommit.ts"
import { hashText } from "../dedupe/IdIndex.ts"
import { encodeRecord } from "../records/Codec.ts"
import { namesPrefix } from "../records/Names.ts"
import { readActors } from "../records/SnapshotValues.ts"
import { BadState } from "../records/UserCodec.ts"
import { UserHead } from "../records/UserHead.ts"
import type { EngineState } from "../state/EngineState.ts"
import { type DurableRecord, followRecords } from "../state/EngineState.ts"
import { type Bucket, entryHeadBytes } from "../users/Bucket.ts"
import { prefixesEnd } from "../users/BucketTable.ts"
import { BucketLoader, secretPrefix } from "../users/StoredBucket.ts"
import { LostErasures } from "./LostErasures.ts"

/*
 * Builds the boards of an environment at start from the heads of its users' states: the all-time
 * board, and the boards of all windows that are not stored yet, also of windows that ended long
 * ago. Lists users on the agenda and in cohorts of leagues as well. Allocates nothing for a user but numbers in typed arrays,
 * and the display name if the user has one. In an environment with further leaderboards or leagues it decodes
 * each state.
 */

class BoardLoader {
  readonly #environment: Environment
  readonly #allTime: BoardBuilder
  readonly #further: ReadonlyArray<FurtherBoards>
  readonly #hasLeagues: boolean
  /** How many users were added to the all-time board. */
  #listed = 0
  readonly #windows: Readonly<Record<WindowKind, Map<number, BoardBuilder>>> = {
    daily: new Map(),
    weekly: new Map(),
    monthly: new Map(),
  }
  /**
   * By slot of `UserHead`, the builder that the last user needed: most users need the same one.
   */
  readonly #latest: Array<WindowBuilder | undefined> = []
  readonly #head = new UserHead()

  constructor(environment: Environment) {
    this.#environment = environment
    this.#allTime = new BoardBuilder(environment.boards.members)
    this.#further = [...environment.boards.further.values()]
    this.#hasLeagues = environment.project.durable.leagues.size > 0
  }

  /** Adds the users of a bucket. */
  add(bucket: Bucket<unknown>): void {
    const { bytes, large } = bucket
    for (let n = 0; n < bucket.count; n++) {
      const stateAt = bucket.stateStart(n)
      this.#head.read(bytes, stateAt, bucket.stateEnd(n))
      this.#add(bytes, bucket.offsetOf(n) + entryHeadBytes, stateAt)
    }
    if (this.#further.length > 0 || this.#hasLeagues) {
      for (const userId of bucket.ids()) this.#place(userId)
    }
    for (const [userId, state] of large ?? []) {
      this.#head.read(state.bytes, 0, state.bytes.length)
      const id = Buffer.from(userId)
      this.#add(id, 0, id.length)
    }
  }

  #place(userId: string): void {
    const user = this.#environment.durableOf(userId)!
    if (user.leagues.size > 0) this.#environment.cohorts.add(user)
    if (!user.profile.hidden) for (const each of this.#further) each.place(user)
  }

  /** Adds the user of `#head`, whose id (UTF-8) is in `ids` from `start` to `end`. */
  #add(ids: Uint8Array, start: number, end: number): void {
    const head = this.#head
    const { displayName, due, scoreSequence, sequence, xp } = head
    const shown = !head.hidden && !head.unlisted
    const listed = xp > 0 && shown
    // A user without xp may be listed in a window: the xp were revoked after the window's end.
    const inWindows = shown && head.windows > 0
    if (!listed && !inWindows && due === 0 && displayName === null) return
    const { agenda, boards, project } = this.#environment
    const member = boards.members.admitBytes(ids, start, end)
    if (displayName !== null) boards.names.set(member, displayName)
    if (listed) {
      this.#allTime.addMember(member, xp, scoreSequence)
      this.#listed++
    }
    for (let n = 0; inWindows && n < head.windows; n++) {
      const score = head.scores[n]!
      if (score <= 0) continue
      const builder = this.#builderOf(head.slots[n]!, head.indexes[n]!)
      builder?.addMember(member, score, head.sequences[n]!)
    }
    // Definitions may have moved the due time since the value was written: 1 means to look at once.
    if (due !== 0) agenda.set(member, sequence < project.durable.dueSequence ? 1 : due)
  }

  /** The builder of a window's board; `undefined`: the board is stored. */
  #builderOf(slot: number, index: number): BoardBuilder | undefined {
    const latest = this.#latest[slot]
    if (latest !== undefined && latest.index === index) return latest.builder
    const kind = windowKinds[slot >>> 1]!
    let builder = this.#windows[kind].get(index)
    if (builder === undefined && index > this.#environment.boards.windows[kind].storedThrough) {
      builder = new BoardBuilder(this.#environment.boards.members)
      this.#windows[kind].set(index, builder)
    }
    this.#latest[slot] = { index, builder }
    return builder
  }

  /** Puts the boards in their places. Throws `ListedTwice` if a user was added twice. */
  finish(): void {
    const { boards } = this.#environment
    boards.allTime = this.#allTime.build()
    const { total } = boards.allTime
    if (total !== this.#listed) {
      throw new Error(`The all-time board has ${total} rows for ${this.#listed} users`)
    }
    for (const kind of windowKinds) {
      for (const [index, builder] of this.#windows[kind]) {
        boards.windows[kind].open.set(index, builder.build())
      }
    }
    for (const each of this.#further) each.filledTo = prefixesEnd
    this.#environment.cohorts.isFilled = this.#hasLeagues
  }
}

interface WindowBuilder {
  readonly index: number
  readonly builder: BoardBuilder | undefined
}

/** What recovery did, for the log of the start. */
export interface RecoveryReport {
  readonly watermark: number
  readonly lastSequence: number
  readonly users: number
  readonly recordsReplayed: number
  readonly durationMs: number
}

/** How many users were read, or how many of the records were replayed. */
export type RecoveryProgress =
  | { readonly stage: "users"; readonly done: number }
  | { readonly stage: "journal"; readonly done: number; readonly total: number }

/** Called every few milliseconds while recovery runs. */
type Progressed = (progress: RecoveryProgress) => void

/** Fills a state that was just opened, from the snapshot and the journal after it. */
export const recover = Effect.fnUntraced(function* (state: EngineState, progressed: Progressed) {
  const { mark, storage } = state
  const startedAt = performance.now()
  const users = yield* loadSnapshot(state, progressed)
  const total = storage.lastSequence - mark.watermark
  const pipeline = replayPipeline(state)
  const lost = new LostErasures(state)
  let recordsReplayed = 0
  yield* Stream.runForEach(storage.readRecords(mark.watermark + 1), (records) =>
    Effect.gen(function* () {
      for (const stored of records) {
        const record = lost.meaningOf(stored)
        if (record === undefined) yield* replayErased(state, stored, pipeline, lost)
        else yield* replay(state, record, stored, pipeline)
      }
      recordsReplayed += records.length
      progressed({ stage: "journal", done: recordsReplayed, total })
    }),
  )
  dropClosedBoards(state)
  const report: RecoveryReport = {
    watermark: mark.watermark,
    lastSequence: storage.lastSequence,
    users,
    recordsReplayed,
    durationMs: Math.round(performance.now() - startedAt),
  }
  return report
})

/** Drops the boards of windows that closed without users, and the cohorts that are settled. */
export const dropClosedBoards = ({ environments }: EngineState): void => {
  for (const { boards, cohorts, project } of environments) {
    cohorts.prune(project.durable)
    for (const [boardId, { windows }] of boards.sets()) {
      const closes = closeOf(project.durable.boardCloses, boardId)
      for (const kind of timedWindows) {
        windows[kind].dropThrough(closes[kind])
      }
    }
  }
}

/** The commit stages of a record that is read from the journal: those up to `erasure`. */
export const replayPipeline = (state: EngineState): CommitPipeline<DurableRecord> => {
  const pipeline = new CommitPipeline<DurableRecord>()
  followRecords(pipeline, state)
  pipeline.on("erasure", ({ actor, record }) => state.erasures.replayed(actor, record))
  return pipeline
}

/** Loads all actors but the users, counts, boards and agenda; returns how many users there are. */
const loadSnapshot = Effect.fnUntraced(function* (state: EngineState, progressed: Progressed) {
  const { environments, storage } = state
  yield* loadActors(state)
  yield* loadCounts(storage, (environment) => environments.of(environment).counts)
  yield* loadGoals(storage, (environment) => environments.of(environment).counts.goals)
  for (const { place, window, ...gaps } of yield* readWindows(storage)) {
    const { board, environment, index, kind } = place
    environments.of(environment).boards.found(board, { kind, index, window, gaps })
  }
  for (const { boards, project } of environments) {
    for (const board of project.durable.leaderboards.values()) boards.define(board)
  }
  yield* loadTeamScores(storage, (environment) => environments.of(environment).teamScores)
  yield* loadAnnouncedRanks(storage, (environment) => environments.of(environment).announced)
  yield* loadNames(state)
  const users = yield* loadUsers(state, (done) => progressed({ stage: "users", done }))
  // Of environments without users: a leaderboard that is not filled does not end.
  for (const environment of environments) yield* fillBoards(environment)
  return users
})

/**
 * Applies the next record of the journal, in one turn once its actor is loaded. An actor whose
 * value already includes the record stays as it is. `stored` is the record as the journal has it.
 */
export const replay = Effect.fnUntraced(function* (
  state: EngineState,
  record: JournalRecord,
  stored: StoredRecord,
  pipeline: CommitPipeline<DurableRecord>,
) {
  const { deduplicator, environments, pending } = state
  const { nextSequence } = pending.texts
  if (record.sequence !== nextSequence) return yield* outOfSequence(record.sequence, nextSequence)
  const actor = actorOf(state, record.subject)
  if (record.sequence > actor.kind.sequenceOf(actor.state)) {
    actor.load(actor.kind.apply(actor.state, record))
    actor.kind.committed(actor, record)
  } else if (record.subject.actor !== "directory") {
    environments.of(record.subject.environment).boards.passOver(record)
  }
  if (record.subject.actor === "project") {
    const environment = environments.of(record.subject.environment)
    yield* fillBoards(environment)
    yield* fillCohorts(environment)
  }
  const key = duplicateKey(record.cause)
  const hash = key === undefined ? undefined : hashText(key, actor.idSeed)
  pending.texts.keep(stored.body, stored.previous)
  pending.link(actor, hash)
  if (hash !== undefined) deduplicator.replayed(hash)
  pipeline.committed([{ actor, record }])
  countRemains(state, stored)
})

/**
 * Passes the next record of the journal, which was erased. No state has its facts, unless the
 * snapshot is from before the erasure: then the user is erased here (`LostErasures`). What is left of
 * the record is counted.
 */
export const replayErased = Effect.fnUntraced(function* (
  state: EngineState,
  record: StoredRecord,
  pipeline: CommitPipeline<DurableRecord>,
  lost: LostErasures,
) {
  const stored = tombstoneOf(record)
  const erasure = yield* lost.of(stored)
  if (erasure !== undefined) {
    const body = Buffer.from(encodeRecord(erasure))
    return yield* replay(state, erasure, { ...stored, body }, pipeline)
  }
  state.pending.keepErased(stored)
  state.changed.passed(stored.sequence)
  countRemains(state, stored)
})

const countRemains = ({ environments }: EngineState, stored: StoredRecord): void => {
  const remains = remainsIn(stored)
  if (remains === undefined) return
  const { counts, teamScores } = environments.of(remains.environment)
  counts.left(remains)
  if (remains.teams !== undefined) teamScores.left(remains.teams, stored.sequence)
}

/** A journal whose batches are whole does not show this: only the records tell their sequences. */
const outOfSequence = (found: number, expected: number): Effect.Effect<never, Broken> => {
  const cause = new Damaged(`The journal has record ${found} in the place of record ${expected}`)
  return Effect.fail(new Broken({ operation: "read", cause }))
}

/** Loads the directory and the project actors. */
const loadActors = ({ directory, environments, storage }: EngineState) => {
  directory.load(directory.kind.empty)
  return Effect.map(readActors(storage, everyKey), (stored) => {
    for (const each of stored) {
      const [kind, id] = each.key as [string, string]
      const actor: AnyActor = kind === "directory" ? directory : environments.of(id).project
      actor.load(actor.kind.stored!.decode(each))
    }
    for (const { project, storedTeams } of environments) storedTeams.load(project.durable.teams)
  })
}

/**
 * Checksums of values do not show this: two places in a damaged page can lead to the same value.
 */
const damagedTable = (words: string): Broken =>
  new Broken({ operation: "read", cause: new DamagedValue(`Table buckets ${words}`) })

/** Loads the secrets of hashes and the names of all environments. */
const loadNames = Effect.fnUntraced(function* ({ environments, storage }: EngineState) {
  const load = (prefix: string, add: (environment: Environment, body: Buffer, n: number) => void) =>
    eachBody(storage, { table: "meta", ...rangeOf(compositeKey(prefix)) }, (key, body) => {
      const [, environment, from] = keyParts(key)
      add(environments.of(environment as string), body, from as number)
    })
  yield* load(secretPrefix, ({ states }, body) => states.open(body))
  yield* load(namesPrefix, ({ states }, body, from) => states.names.load(from, body))
})

/** Loads the states of all users, and builds the boards and the agenda of each environment. */
const loadUsers = Effect.fnUntraced(function* (
  { environments, storage }: EngineState,
  progressed: (users: number) => void,
) {
  const loaders = new Map<Environment, BucketLoader<UserActor>>()
  // The keys of one environment are neighbours. No key begins with the byte 255.
  let prefix: Uint8Array = Uint8Array.of(255)
  let loader = new BucketLoader<UserActor>()
  const add = (key: Uint8Array, value: Buffer): void => {
    if (!hasPrefix(prefix, key, 0, key.length)) {
      const environment = keyParts(key)[0] as string
      prefix = compositeKey(environment)
      loader = new BucketLoader()
      loaders.set(environments.of(environment), loader)
    }
    loader.add(key, wholeBody(value), checksumOf(value))
  }
  yield* Stream.runForEach(storage.readBlocks({ table: "buckets", ...everyKey }), (block) => {
    const damaged = firstDamaged(block)
    if (damaged >= 0) {
      return decodeValue(block.value(damaged), { table: "buckets", key: block.key(damaged) })
    }
    return orDamaged(() => {
      for (let n = 0; n < block.count; n++) add(block.key(n), block.value(n))
    })
  })
  let users = 0
  for (const [environment, loader] of loaders) {
    yield* orDamaged(() => environment.states.load(loader))
    const boards = new BoardLoader(environment)
    let turnEndsAt = performance.now() + limits.foldTurnMs
    for (const bucket of environment.states.table.buckets()) {
      yield* orDamaged(() => boards.add(bucket))
      users += bucket.users
      if (performance.now() < turnEndsAt) continue
      progressed(users)
      yield* yieldToEventLoop
      turnEndsAt = performance.now() + limits.foldTurnMs
    }
    yield* orDamaged(() => boards.finish())
  }
  progressed(users)
  return users
})

/** Runs `work`. What shows that stored values are damaged fails; any other error is a defect. */
const orDamaged = (work: () => void): Effect.Effect<void, Broken> =>
  Effect.suspend(() => {
    try {
      work()
      return Effect.void
    } catch (error) {
      if (error instanceof ListedTwice) {
        return Effect.fail(damagedTable("has two values of the same user"))
      }
      if (error instanceof BadState) {
        return Effect.fail(damagedTable(`is damaged: ${error.message}`))
      }
      return Effect.die(error)
    }
  })

/** The actor of a record, loaded. */
const actorOf = (state: EngineState, subject: Subject): AnyActor => {
  switch (subject.actor) {
    case "directory":
      return state.directory
    case "project":
      return state.environments.of(subject.environment).project
    case "user": {
      const actor: AnyActor = state.actorCache.ensure(subject.environment, subject.userId)
      if (!actor.loaded) loadUser(state, actor, subject.environment, subject.userId)
      return actor
    }
  }
}
