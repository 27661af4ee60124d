/**
 * Batches of events, rewards or openings: applies the items, words their outcomes, and keeps the answer for
 * repeats with the same Idempotency-Key. `BatchKind` has what differs between the kinds of items.
 */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import { contentDifferences, type Repeat } from "../../domain/decide/Repeat.ts"
import {
  type EventReply,
  type OpeningReply,
  type RewardReply,
  replyOf,
} from "../../domain/message/UserReply.ts"
import type {
  BatchAnswer,
  BatchItemOutcome,
  BatchItemRefusal,
} from "../../domain/record/BatchAnswer.ts"
import type { Opening } from "../../domain/record/Opening.ts"
import type { GrantedReward, JournalRecord, TrackedEvent } from "../../domain/record/Record.ts"
import { errorKinds, type LaurelError } from "../../domain/values/Errors.ts"
import type {
  Engine,
  EngineCode,
  Idempotency,
  IdempotencyCode,
  StorageCode,
  Tally,
  UserMessage,
} from "../../engine/Engine.ts"
import type { BatchRefusal, BatchSummary } from "../api/Batches.ts"
import { batchSteps } from "../body/BatchDecoder.ts"
import { JsonText } from "../body/Body.ts"
import {
  type BatchInput,
  type DecodingTurns,
  type ItemKind,
  isRefusal,
} from "../body/EventDecoder.ts"
import type { OperationReply, OperationRequest } from "../contract/Operation.ts"
import { prefersMinimal } from "../request/RequestHead.ts"
import { factOf } from "./Shapes.ts"

type Command = TrackedEvent | GrantedReward | Opening
type ItemReply = EventReply | RewardReply | OpeningReply

/** What the items of a batch are, and the texts of their outcomes. */
export interface BatchKind<Item, Reply extends ItemReply> {
  readonly items: ItemKind<Item>
  /** `derivedId` is the id of an item for which the caller chose none. */
  readonly message: (item: Item, derivedId: string | undefined) => UserMessage<Command>
  /** The JSON of an outcome without its first brace. */
  readonly members: (reply: Reply) => string
  /** The sequence of the record that answers an item. */
  readonly sequenceOf: (reply: Reply) => number
  readonly counted?: (counts: Counts) => void
}

/** A refusal as it is kept; the reply says `ok: false` before it. */
type Refusal = Omit<typeof BatchRefusal.Type, "ok">
type Result<Reply> = Reply | Refusal
type Summary = Omit<typeof BatchSummary.Type, "refusals"> & {
  readonly refusals: ReadonlyArray<{ readonly index: number } & Refusal>
}
type BatchCode = EngineCode | "body_too_large" | IdempotencyCode

type BatchRequest<Item> = OperationRequest<
  unknown,
  unknown,
  BatchInput<Item>,
  { readonly prefer?: string | undefined }
>

/**
 * The operation of batches of one kind. `Outcome` is the type of the reply with all outcomes, whose
 * text is written here.
 */
export const batchOperation = <Item extends object, Reply extends ItemReply, Outcome>(
  engine: Engine["Service"],
  turns: DecodingTurns,
  kind: BatchKind<Item, Reply>,
) => {
  const batches = new Batches<Item, Reply, Outcome | typeof BatchSummary.Type>(engine, kind)
  return {
    decode: (body: Buffer, mediaType: string, environment: string) =>
      turns.run(environment, batchSteps(kind.items, body, mediaType)),
    cost: ({ items }: BatchInput<Item>) => items.length,
    handle: ({ caller, headers, idempotency, payload }: BatchRequest<Item>) => {
      const minimal = prefersMinimal(headers.prefer)
      return idempotency === undefined
        ? batches.apply(caller, payload, minimal)
        : batches.applyOnce(caller, payload, minimal, idempotency)
    },
  }
}

class Batches<Item extends object, Reply extends ItemReply, Body> {
  readonly #engine: Engine["Service"]
  readonly #kind: BatchKind<Item, Reply>

  constructor(engine: Engine["Service"], kind: BatchKind<Item, Reply>) {
    this.#engine = engine
    this.#kind = kind
  }

  /** `minimal`: the reply leaves out the outcomes of accepted items. */
  apply(
    caller: Caller,
    batch: BatchInput<Item>,
    minimal: boolean,
  ): Effect.Effect<OperationReply<Body>, LaurelError<EngineCode>> {
    return Effect.map(this.#bodyOf(caller, batch, minimal, undefined), ({ body }) =>
      replyWith(body, false, minimal),
    )
  }

  /**
   * Applies the batch for the first request with its Idempotency-Key; a repeat gets the first
   * reply.
   */
  applyOnce(
    caller: Caller,
    batch: BatchInput<Item>,
    minimal: boolean,
    idempotency: Idempotency,
  ): Effect.Effect<OperationReply<Body>, LaurelError<BatchCode>> {
    const reserved = this.#engine.reserve<never>(caller.environment, idempotency)
    return Effect.flatMap(
      reserved,
      (reservation): Effect.Effect<OperationReply<Body>, LaurelError<BatchCode>> => {
        if (!reservation.fresh) {
          const { answer } = factOf(reservation.record, "batch.answered")
          return Effect.map(this.#again(caller.environment, batch, answer), (body) =>
            replyWith(body, true, "summary" in answer),
          )
        }
        return Effect.suspend(() => this.#applyAndKeep(caller, batch, minimal, idempotency)).pipe(
          Effect.ensuring(Effect.sync(reservation.release)),
          Effect.uninterruptible,
        )
      },
    )
  }

  #applyAndKeep(
    caller: Caller,
    batch: BatchInput<Item>,
    minimal: boolean,
    idempotency: Idempotency,
  ) {
    return Effect.map(
      Effect.tap(this.#bodyOf(caller, batch, minimal, derivedId(idempotency)), ({ answer }) =>
        this.#keep(caller, answer, idempotency),
      ),
      ({ body }) => replyWith(body, false, minimal),
    )
  }

  /**
   * Keeps the answer for repeats, unless it has a failure of the server: then a repeat may succeed.
   */
  #keep({ environment }: Caller, answer: BatchAnswer, idempotency: Idempotency) {
    const each = "outcomes" in answer ? answer.outcomes : (answer.summary as Summary).refusals
    if (each.some((result) => "status" in result && result.status >= 500)) return Effect.void
    const command = { kind: "keepBatch", answer } as const
    const held = { ...idempotency, reserved: true } as const
    // An answer too large for a record is not kept: a repeat finds the items by their derived ids.
    return Effect.catchIf(
      this.#engine.askProject(environment, command, held),
      ({ code }) => code === "body_too_large",
      () => Effect.void,
    )
  }

  /**
   * The reply of a kept answer to `batch`, in which the items of users who were erased since are
   * refused. A kept answer has nothing of the items: `differs` follows from the batch and the first
   * records.
   */
  #again(
    environment: string,
    { items }: BatchInput<Item>,
    answer: BatchAnswer,
  ): Effect.Effect<JsonText<Body>, LaurelError<StorageCode>> {
    if ("summary" in answer) return Effect.succeed(summaryText<Body>(answer.summary as Summary))
    const results = Effect.forEach(
      answer.outcomes,
      (outcome, index): Effect.Effect<Result<Reply>, LaurelError<StorageCode>> => {
        if ("status" in outcome) return Effect.succeed(outcome as Refusal)
        const item = items[index] as Item
        return Effect.map(this.#engine.readRecord(environment, outcome.sequence), (record) =>
          record === undefined
            ? erased
            : (replyOf(record, this.#repeatIn(outcome, item, record)) as Reply),
        )
      },
    )
    return Effect.map(results, (all) => this.#resultsText(all, countsOf(all)))
  }

  /**
   * Applies the items. With `keyed`, items without an id of the caller get ids that begin with it.
   */
  #bodyOf(
    { environment }: Caller,
    batch: BatchInput<Item>,
    minimal: boolean,
    keyed: string | undefined,
  ): Effect.Effect<Replied<Body>, LaurelError<EngineCode>> {
    const messages: Array<UserMessage<Command>> = []
    batch.items.forEach((item, index) => {
      if (isRefusal(item)) return
      const id = keyed === undefined ? undefined : `${keyed}.${index}`
      messages.push(this.#kind.message(item, id))
    })
    if (minimal) {
      return Effect.flatMap(this.#engine.tellUsers(environment, messages), (tally) => {
        const refusals = tally.refusals.map(({ error }) => error)
        const failure = failureOf(refusals, messages.length)
        return failure === undefined
          ? Effect.succeed(this.#summary(batch, tally))
          : Effect.fail(failure)
      })
    }
    return Effect.flatMap(this.#engine.askUsers(environment, messages), (given) => {
      // The replies are those to the kind's commands.
      const answers = given as ReadonlyArray<Reply | LaurelError>
      const failure = failureOf(answers.filter(isRefusal), messages.length)
      return failure === undefined
        ? Effect.succeed(this.#outcomes(batch, answers))
        : Effect.fail(failure)
    })
  }

  #outcomes(
    { items, root }: BatchInput<Item>,
    answers: ReadonlyArray<Reply | LaurelError>,
  ): Replied<Body> {
    let answered = 0
    const results = items.map((item, index): Result<Reply> => {
      const answer = isRefusal(item) ? item : answers[answered++]!
      if (!isRefusal(answer)) return answer
      return refusal(answer, isRefusal(item) ? "" : `${root}/${index}`)
    })
    const counts = this.#counted(countsOf(results))
    const kept = () => results.map((result) => this.#keptOutcome(result))
    return {
      body: this.#resultsText(results, counts),
      get answer() {
        return { outcomes: kept() }
      },
    }
  }

  #summary(
    { items, root }: BatchInput<Item>,
    { accepted, differing, duplicates, refusals }: Tally,
  ): Replied<Body> {
    const told: Array<Summary["refusals"][number]> = []
    let sent = 0
    let refused = 0
    items.forEach((item, index) => {
      if (isRefusal(item)) {
        told.push({ index, ...refusal(item, "") })
      } else if (refusals[refused]?.index === sent++) {
        told.push({ index, ...refusal(refusals[refused++]!.error, `${root}/${index}`) })
      }
    })
    const counts = this.#counted({ accepted, duplicates, differing, rejected: told.length })
    const summary = { ...counts, refusals: told }
    return { body: summaryText<Body>(summary), answer: { summary } }
  }

  #counted(counts: Counts): Counts {
    this.#kind.counted?.(counts)
    return counts
  }

  #resultsText(
    results: ReadonlyArray<Result<Reply>>,
    { accepted, differing, duplicates, rejected }: Counts,
  ): JsonText<Body> {
    const { members } = this.#kind
    let texts = ""
    for (const result of results) {
      if (texts !== "") texts += ","
      texts +=
        "status" in result
          ? JSON.stringify({ ok: false, ...result })
          : `{"ok":true,${members(result)}`
    }
    return new JsonText(
      `{"accepted":${accepted},"duplicates":${duplicates},"differing":${differing},"rejected":${rejected},"results":[${texts}]}`,
    )
  }

  #keptOutcome(result: Result<Reply>): BatchItemOutcome | BatchItemRefusal {
    if ("status" in result) return result
    const sequence = this.#kind.sequenceOf(result)
    if (!result.duplicate) return { sequence }
    return result.revoked
      ? { sequence, duplicate: true, revoked: true }
      : { sequence, duplicate: true }
  }

  /** The repeat in a kept outcome of `item`; `undefined`: the item was new. */
  #repeatIn(
    { duplicate, revoked }: BatchItemOutcome,
    item: Item,
    { cause }: JournalRecord,
  ): Repeat | undefined {
    if (duplicate === undefined) return undefined
    const { command } = this.#kind.message(item, undefined)
    return { differs: contentDifferences(command, cause), revoked: revoked === true }
  }
}

/** The reply to a batch, and what is kept of it for repeats. */
interface Replied<Body> {
  readonly body: JsonText<Body>
  readonly answer: BatchAnswer
}

export type Counts = Omit<Summary, "refusals">

const countsOf = (results: ReadonlyArray<Result<ItemReply>>): Counts => {
  let accepted = 0
  let duplicates = 0
  let differing = 0
  for (const result of results) {
    if ("status" in result) continue
    if (result.duplicate) duplicates++
    else accepted++
    if (result.differs.length > 0) differing++
  }
  return { accepted, duplicates, differing, rejected: results.length - accepted - duplicates }
}

const summaryText = <Body>({ refusals, ...counts }: Summary): JsonText<Body> =>
  new JsonText(
    JSON.stringify({
      ...counts,
      refusals: refusals.map(({ index, ...refusal }) => ({ index, ok: false, ...refusal })),
    }),
  )

/**
 * The reply to a batch. A replayed reply has the form of the first one, whatever the repeat
 * prefers.
 */
const replyWith = <Body>(
  body: JsonText<Body>,
  replayed: boolean,
  minimal: boolean,
): OperationReply<Body> =>
  minimal ? { body, replayed, headers: minimalApplied } : { body, replayed }

const minimalApplied = ["Preference-Applied", "return=minimal"] as const

/**
 * The start of the ids that the items of a batch get from its Idempotency-Key. If the process ends
 * after the items and before their answer is kept, a repeat finds by these ids which items were
 * applied. The ids depend on the whole request: another request that reuses the key a day later
 * gets other ids.
 */
const derivedId = ({ fingerprint, key }: Idempotency): string =>
  `~${createHash("sha256").update(`${key}\n${fingerprint}`).digest("hex").slice(0, 32)}`

/**
 * The failure of a whole batch: `refusals` of its `count` items were refused. `undefined`:
 * each item has its own outcome.
 */
export const failureOf = (
  refusals: ReadonlyArray<LaurelError>,
  count: number,
): LaurelError<EngineCode> | undefined => {
  // The caller must not take 200 for a batch whose outcome is unknown.
  const unknown = refusals.find(isUnknown)
  if (unknown !== undefined) return unknown
  const [first] = refusals
  const isWhole = refusals.length === count && refusals.every(isOurFailure)
  return isWhole && first !== undefined && isOurFailure(first) ? first : undefined
}

/** The disk was full for too long. The item may still become durable. */
const isUnknown = (refusal: LaurelError): refusal is LaurelError<"storage_unavailable"> =>
  refusal.code === "storage_unavailable"

/** Whether the refusal is a failure of the server, and not of the item. */
const isOurFailure = (refusal: LaurelError): refusal is LaurelError<EngineCode> =>
  errorKinds[refusal.code].status >= 500

/** `root` is put before the pointers of faults that the domain found in the item. */
export const refusal = ({ code, detail, errors = [] }: LaurelError, root: string): Refusal => ({
  status: errorKinds[code].status,
  code,
  detail,
  errors: root === "" ? errors : errors.map((f) => ({ ...f, pointer: root + f.pointer })),
})

/** Stands for an item of a user who was erased after the batch. */
const erased: Refusal = {
  status: 404,
  code: "user_not_found",
  detail: "The user has since been erased.",
  errors: [],
}
