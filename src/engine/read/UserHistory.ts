/**
 * Reads a user's records, newest first, along the chain in the journal: each record names the
 * user's record before it (`previous`, the sequence of the state that it was decided on).
 *
 * - The chain begins at the sequence of the user's state. It ends at the record that created the
 *   user, or where the journal was pruned. An erased user has no state, and a user who was created
 *   again has a chain of its own: no reader meets erased records.
 * - Records that the snapshot lacks are in memory (`RecordReader`). So a reader needs the journal
 *   only for records that it has, also in relaxed durability.
 * - A reader leaves out records that become durable after it began, so it has no gaps, however long
 *   it pauses between two chunks. If the user is erased meanwhile, it ends.
 * - The chains of users who were merged into the user are read with its own, the latest record of
 *   all of them first (`domain/decide/Merge.ts`).
 * - A record of the chain that is not the user's is damage: it would show one user's data to
 *   another.
 *
 * Cost: nothing on the path of a write. A reader holds one chunk of `historyChunkRecordsMax`
 * records, and decodes at most `historyTurnBytesMax` of text in a turn. A record of a sealed
 * segment costs at most one block of the segment. Nothing is read between the user's records,
 * however many others there are. A page in the middle of the history of a merged user reads the
 * chains of the others from their ends.
 */
import { Effect, Stream } from "effect"
import { type HistoryNeeded, Past } from "../../domain/record/Past.ts"
import { decidedAt, type JournalRecord, type Subject } from "../../domain/record/Record.ts"
import { absorbedBy } from "../../domain/record/United.ts"
import { type AbsorbedUser, noneAbsorbed } from "../../domain/user/User.ts"
import { limits } from "../../Limits.ts"
import type { Broken, ReadWork } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { RecallingActor } from "../actor/RecordFinder.ts"
import { decodeRecord } from "../records/Codec.ts"
import { damagedRecord, isOf, RecordReader } from "../records/RecordReader.ts"
import type { EngineState } from "../state/EngineState.ts"

interface Place {
  readonly environment: string
  readonly userId: string
}

/** The next record of a chain; 0: the chain is read. */
interface Head {
  readonly userId: string
  readonly next: number
}

/**
 * The position of a reader: the heads of the user's chain and of those of users who were merged into
 * it, and the bound of what it gives.
 */
interface Position {
  readonly heads: ReadonlyArray<Head>
  readonly before: number
  readonly work: ReadWork
}

type HistoryState = Pick<
  EngineState,
  "storage" | "pending" | "erasures" | "environments" | "deduplicator"
>

export class UserHistory {
  readonly #state: HistoryState
  readonly #commit: { readonly durableSequence: number }
  readonly #reader: RecordReader

  constructor(state: HistoryState, commit: { readonly durableSequence: number }) {
    this.#state = state
    this.#commit = commit
    this.#reader = new RecordReader(state.storage, state.pending)
  }

  /**
   * The user's durable record with this sequence; `undefined`: there is none, or the user was
   * erased since.
   */
  find(
    environment: string,
    userId: string,
    sequence: number,
  ): Effect.Effect<JournalRecord | undefined, Broken> {
    return Effect.map(
      Effect.suspend(() => this.findAny(environment, sequence)),
      (record) => {
        if (record === undefined || isOf(record, environment, userId)) return record
        const user = this.#state.environments.of(environment).standing(userId)
        return user !== undefined && absorbedBy(user, record) !== undefined ? record : undefined
      },
    )
  }

  /** `find` for any user of the environment. */
  findAny(environment: string, sequence: number): Effect.Effect<JournalRecord | undefined, Broken> {
    if (sequence > this.#commit.durableSequence) return Effect.undefined
    return Effect.map(this.#reader.record(environment, sequence), (record) => {
      if (record?.subject.actor !== "user") return undefined
      const { subject } = record
      if (subject.environment !== environment) return undefined
      const hidden = this.#state.erasures.throughOf(environment, subject.userId)
      return sequence > hidden ? record : undefined
    })
  }

  /**
   * The user's first durable record whose command has this name (`duplicateKey`); `undefined`:
   * there is none.
   */
  findNamed(
    environment: string,
    userId: string,
    key: string,
  ): Effect.Effect<JournalRecord | undefined, Broken> {
    const place = { environment, userId }
    return Effect.suspend(() => {
      const last = this.#lastDurable(place)
      if (last === 0) return Effect.undefined
      return this.#state.deduplicator.firstDurableOf(place, last, key, this.#absorbedBy(place))
    })
  }

  /**
   * `find` for the actor's own next command: an erasure that is not durable yet already hides
   * records.
   */
  findForActor(
    subject: Subject,
    sequence: number,
  ): Effect.Effect<JournalRecord | undefined, Broken> {
    if (subject.actor !== "user") return Effect.undefined
    const { environment, userId } = subject
    return Effect.map(this.find(environment, userId, sequence), (record) => {
      // Only the user's own records: one who was merged into the user may have older ones.
      const isHidden = sequence <= this.#state.erasures.aheadOf(subject)
      return isHidden && record && isOf(record, environment, userId) ? undefined : record
    })
  }

  /** The history that a decision of the actor needs, from its records, durable or not. */
  recallForActor(
    { kind, state, subject }: RecallingActor,
    needed: HistoryNeeded,
  ): Effect.Effect<Past, Broken> {
    return subject.actor === "user"
      ? this.#recall(subject, kind.sequenceOf(state), state?.absorbed ?? noneAbsorbed, needed)
      : Effect.succeed(new Past())
  }

  /** `recallForActor` for a decision on the durable state that will not be applied. */
  recall(environment: string, userId: string, needed: HistoryNeeded): Effect.Effect<Past, Broken> {
    const place = { environment, userId }
    return Effect.suspend(() =>
      this.#recall(place, this.#lastDurable(place), this.#absorbedBy(place), needed),
    )
  }

  readonly #recall = Effect.fnUntraced(function* (
    this: UserHistory,
    place: Place,
    last: number,
    absorbed: ReadonlyArray<AbsorbedUser>,
    needed: HistoryNeeded,
  ): Effect.fn.Return<Past, Broken> {
    const past = new Past(needed.backfilled)
    yield* Stream.runForEachWhile(this.#walk(place, last, absorbed), (records) =>
      Effect.sync(() => {
        for (const record of records) {
          past.add(record)
          if (needed.isMet(past, decidedAt(record))) return false
        }
        return true
      }),
    )
    return past
  })

  /** The sequence of the user's last durable record; 0: the user does not exist. */
  #lastDurable({ environment, userId }: Place): number {
    const { states, users } = this.#state.environments.of(environment)
    const actor = users.get(userId)
    return actor?.loaded ? (actor.durable?.sequence ?? 0) : states.sequenceOf(userId)
  }

  #absorbedBy({ environment, userId }: Place): ReadonlyArray<AbsorbedUser> {
    return this.#state.environments.of(environment).durableOf(userId)?.absorbed ?? noneAbsorbed
  }

  /**
   * The user's records below the sequence `before`, newest first, in chunks; a chunk may be empty.
   * `before` need not be the sequence of a record of the user. If the record just below it is the
   * user's, nothing above it is read. `work` counts what was read; a chunk ends at each multiple of
   * `historyPageBlocksMax`.
   */
  read(
    environment: string,
    userId: string,
    before: number = Number.MAX_SAFE_INTEGER,
    work: ReadWork = { blocks: 0 },
  ): Stream.Stream<ReadonlyArray<JournalRecord>, Broken> {
    const place = { environment, userId }
    const start = Effect.gen({ self: this }, function* () {
      const last = this.#lastDurable(place)
      if (last < before) return last
      const just = yield* this.#reader.recordOf(environment, userId, before - 1)
      return just === undefined ? last : before - 1
    })
    return Stream.unwrap(
      Effect.map(start, (next) => this.#walk(place, next, this.#absorbedBy(place), before, work)),
    )
  }

  /**
   * The chain from the record `next` on, and those of the users who were merged into the user, as
   * far as they are below `before`.
   */
  #walk(
    { environment, userId }: Place,
    next: number,
    absorbed: ReadonlyArray<AbsorbedUser>,
    before: number = Number.MAX_SAFE_INTEGER,
    work: ReadWork = { blocks: 0 },
  ) {
    const others = absorbed.map((one) => ({ userId: one.userId, next: one.frozen }))
    const heads: ReadonlyArray<Head> = [{ userId, next }, ...others]
    return Stream.unfold({ heads, before, work }, (position: Position) =>
      position.heads.length === 0 ? Effect.undefined : this.#chunk(environment, position),
    )
  }

  /** The next chunk of records, and the position after it. */
  readonly #chunk = Effect.fnUntraced(function* (
    this: UserHistory,
    environment: string,
    { before, heads: first, work }: Position,
  ): Effect.fn.Return<readonly [ReadonlyArray<JournalRecord>, Position], Broken> {
    const { erasures } = this.#state
    const records: Array<JournalRecord> = []
    const heads = [...first]
    let bytes = 0
    const most = limits.historyPageBlocksMax
    const blocksMax = (Math.floor(work.blocks / most) + 1) * most
    yield* yieldToEventLoop
    for (let looked = 0; looked < limits.historyChunkRecordsMax && heads.length > 0; looked++) {
      const latest = latestOf(heads)
      const { next, userId } = heads[latest]!
      const stored =
        next <= erasures.throughOf(environment, userId)
          ? undefined
          : yield* this.#reader.stored(environment, next, work)
      if (stored === undefined) {
        heads.splice(latest, 1)
        continue
      }
      const record = decodeRecord(stored.body)
      if (!isOf(record, environment, userId)) return yield* notOfTheUser(next)
      if (stored.sequence < before) records.push(record)
      bytes += stored.body.length
      if (stored.previous === 0) heads.splice(latest, 1)
      else heads[latest] = { userId, next: stored.previous }
      if (bytes > limits.historyTurnBytesMax || work.blocks >= blocksMax) break
    }
    return [records, { before, heads, work }]
  })
}

/** The place of the head with the latest record. */
const latestOf = (heads: ReadonlyArray<Head>): number => {
  let latest = 0
  for (let place = 1; place < heads.length; place++) {
    if (heads[place]!.next > heads[latest]!.next) latest = place
  }
  return latest
}

const notOfTheUser = (sequence: number): Effect.Effect<never, Broken> =>
  damagedRecord(sequence, "It is not of the user whose later record names it")
