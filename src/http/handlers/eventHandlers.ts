import { createHash } from "node:crypto"
import { Effect } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import { contentDifferences, type Repeat } from "../../domain/decide/Repeat.ts"
import { type EventReply, replyOf } from "../../domain/message/UserReply.ts"
import type {
  BatchAnswer,
  BatchEventOutcome,
  BatchEventRefusal,
  JournalRecord,
  TrackedEvent,
} from "../../domain/record/Record.ts"
import { errorKinds, type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { recordNameOf } from "../../domain/values/Ids.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type {
  Engine,
  EngineCode,
  Idempotency,
  IdempotencyCode,
  Outcome,
  StorageCode,
  Tally,
  UserMessage,
} from "../../engine/Engine.ts"
import { scopesOf } from "../api/Common.ts"
import {
  type BatchOutcome,
  type BatchSummary,
  type EventOutcome,
  type EventRefusal,
  Events,
} from "../api/Events.ts"
import { batchSteps } from "../body/BatchDecoder.ts"
import { JsonText } from "../body/Body.ts"
import {
  type BatchInput,
  DecodingTurns,
  decodeEventBody,
  type EventInput,
  isRefusal,
} from "../body/EventDecoder.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import type { OperationReply, OperationRequest } from "../contract/Operation.ts"
import { insufficientScope } from "../request/Problem.ts"
import { prefersMinimal } from "../request/RequestHead.ts"
import type { EventMetrics } from "../request/RequestMetrics.ts"
import { readByOurId, readRevocation } from "./readHistory.ts"
import { factOf, showBadges } from "./Shapes.ts"

type Shown = typeof EventOutcome.Type
type Answered = Outcome<TrackedEvent>
/** A refusal as it is kept; the reply says `ok: false` before it. */
type Refusal = Omit<typeof EventRefusal.Type, "ok">
type Result = EventReply | Refusal
interface Summary extends Counts {
  readonly refusals: ReadonlyArray<{ readonly index: number } & Refusal>
}
type BatchReply = typeof BatchOutcome.Type | typeof BatchSummary.Type
type BatchCode = EngineCode | "body_too_large" | IdempotencyCode

type BatchRequest = OperationRequest<
  unknown,
  unknown,
  BatchInput,
  { readonly prefer?: string | undefined }
>

interface Inputs {
  readonly track: EventInput
  readonly trackBatch: BatchInput
  readonly importBatch: BatchInput
}

export const eventHandlers = (
  engine: Engine["Service"],
  metrics: EventMetrics,
): Handlers<typeof Events, Inputs> => {
  const turns = new DecodingTurns()
  return {
    track: trackHandler(engine, metrics),
    get: { handle: readEvent(engine) },
    trackBatch: batchHandler(turns, new Batches(engine, metrics, undefined)),
    importBatch: batchHandler(turns, new Batches(engine, metrics, true)),
  }
}

/* Single events. */

const trackHandler = (
  engine: Engine["Service"],
  metrics: EventMetrics,
): Handlers<typeof Events, Inputs>["track"] => {
  const tracked = (reply: EventReply, replayed: boolean): OperationReply<Shown> => {
    if (replayed || reply.duplicate) metrics.duplicates.increment()
    else metrics.tracked.increment()
    return { body: new JsonText<Shown>(eventText(reply, isoTime)), replayed }
  }
  return {
    decode: decodeEventBody,
    handle: ({ caller, idempotency, payload }) => {
      const refused = tokenRefusal(engine, caller, payload)
      if (refused !== undefined) return Effect.fail(refused)
      const message = trackMessage(payload, undefined, undefined)
      const answer = engine.askUser(caller.environment, message, idempotency)
      return Effect.map(answer, ({ replayed, reply }) => tracked(reply, replayed))
    },
    handleWithCallback: ({ caller, payload }, annotations, done) => {
      const refused = tokenRefusal(engine, caller, payload)
      if (refused !== undefined) {
        done(() => refused)
        return
      }
      const message = trackMessage(payload, undefined, undefined)
      engine.askUserWithCallback(caller.environment, message, annotations, (answer) =>
        done(() => ("_tag" in answer ? answer : tracked(answer, false))),
      )
    },
  }
}

/**
 * The refusal of an event that a user token may not send; `undefined` if it may. The pipeline has
 * already checked the event's user.
 */
const tokenRefusal = (
  engine: Engine["Service"],
  { environment, userId }: Caller,
  { action, occurredAt }: EventInput,
): LaurelError<"insufficient_scope"> | undefined => {
  if (userId === undefined) return undefined
  if (occurredAt !== undefined) return datedEvent
  const { clientActions = [] } = engine.projectNow(environment).settings
  return clientActions.includes(action) ? undefined : unlistedAction(action)
}

const beyondToken = (detail: string) =>
  insufficientScope(scopesOf(Events.endpoints.track.annotations), "user", detail)

const datedEvent = beyondToken("A user token may not date an event.")

const unlistedAction = (action: string) =>
  beyondToken(
    `A user token may send the actions that the project's setting clientActions lists; ${action} is none of them.`,
  )

/* Reading back. */

const eventNotFound = laurelError(
  "event_not_found",
  "No event that this key may read has this id, or the journal no longer has it.",
)

/** Finds the event by its id, which names the record. A user token reads only its own user's. */
const readEvent = (engine: Engine["Service"]): Handlers<typeof Events, Inputs>["get"]["handle"] =>
  Effect.fnUntraced(function* ({ caller: { environment, userId }, params: { id } }) {
    const record = yield* readByOurId(engine, environment, "event", id)
    if (record === undefined || (userId !== undefined && record.subject.userId !== userId)) {
      return yield* Effect.fail(eventNotFound)
    }
    const reply = replyOf(record) as EventReply
    const { badges, eventId, level, matched, points, quests, streaks, withheld, xp } = reply
    const { id: ownId = null, imported = false, metadata = null } = record.cause
    return {
      body: {
        eventId,
        userId: reply.userId,
        action: reply.action,
        occurredAt: isoTime(reply.occurredAt),
        receivedAt: isoTime(reply.receivedAt),
        xp,
        points,
        level,
        badges: showBadges(badges),
        quests,
        streaks,
        ...(matched ? {} : { matched }),
        ...(withheld.length === 0 ? {} : { withheld }),
        id: ownId,
        metadata,
        imported,
        ...(yield* readRevocation(engine, record)),
      },
    }
  })

/*
 * The outcome of an event as JSON. Nearly all replies consist of outcomes, up to a thousand in the
 * reply to a batch. The members are few and known, so the text is written member by member, which
 * is faster than making objects for `JSON.stringify`. A test checks that both texts are equal.
 */

/** The JSON of the contract's `EventOutcome`. `isoTime` writes epoch milliseconds. */
export const eventText = (reply: EventReply, isoTime: (ms: number) => string): string =>
  `{${eventMembers(reply, isoTime)}`

/** `eventText` without the first brace. */
const eventMembers = (reply: EventReply, isoTime: (ms: number) => string): string => {
  const { level, points, xp } = reply
  // Laurel's ids, actions and times have no characters that JSON escapes.
  return `"eventId":"${reply.eventId}","userId":${JSON.stringify(reply.userId)},"action":"${reply.action}","duplicate":${reply.duplicate}${repeatText(reply)},"occurredAt":"${isoTime(reply.occurredAt)}","receivedAt":"${isoTime(reply.receivedAt)}","xp":{"earned":${xp.earned},"total":${xp.total}},"points":{"earned":${points.earned},"total":${points.total}},"level":{"before":${level.before},"after":${level.after}},"badges":${badgesText(reply.badges)},"quests":${listText(reply.quests)},"streaks":${listText(reply.streaks)}${reply.matched ? "" : unmatched}${reply.withheld.length === 0 ? "" : `,"withheld":${JSON.stringify(reply.withheld)}`}}`
}

/** How a duplicate relates to the first event; empty for all others. */
const repeatText = ({ differs, revoked }: EventReply): string =>
  `${differs.length === 0 ? "" : `,"differs":${JSON.stringify(differs)}`}${revoked ? `,"revoked":true` : ""}`

const unmatched = `,"matched":false`

const badgesText = (badges: EventReply["badges"]): string =>
  badges.length === 0 ? "[]" : JSON.stringify(showBadges(badges))

const listText = (
  list: (typeof EventOutcome.Type)["quests"] | (typeof EventOutcome.Type)["streaks"],
): string => (list.length === 0 ? "[]" : JSON.stringify(list))

/* Batches. */

const batchHandler = (turns: DecodingTurns, batches: Batches) => ({
  decode: (body: Buffer, mediaType: string, environment: string) =>
    turns.run(environment, batchSteps(body, mediaType)),
  cost: ({ events }: BatchInput) => events.length,
  handle: ({ caller, headers, idempotency, payload }: BatchRequest) => {
    const minimal = prefersMinimal(headers.prefer)
    return idempotency === undefined
      ? batches.apply(caller, payload, minimal)
      : batches.applyOnce(caller, payload, minimal, idempotency)
  },
})

/** Applies batches and counts their events. `imported` marks the events of imports. */
class Batches {
  readonly #engine: Engine["Service"]
  readonly #metrics: EventMetrics
  readonly #imported: true | undefined

  constructor(engine: Engine["Service"], metrics: EventMetrics, imported: true | undefined) {
    this.#engine = engine
    this.#metrics = metrics
    this.#imported = imported
  }

  /** `minimal`: the reply leaves out the outcomes of accepted events. */
  apply(
    caller: Caller,
    batch: BatchInput,
    minimal: boolean,
  ): Effect.Effect<OperationReply<BatchReply>, LaurelError<EngineCode>> {
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
    batch: BatchInput,
    minimal: boolean,
    idempotency: Idempotency,
  ): Effect.Effect<OperationReply<BatchReply>, LaurelError<BatchCode>> {
    const reserved = this.#engine.reserve<never>(caller.environment, idempotency)
    return Effect.flatMap(
      reserved,
      (reservation): Effect.Effect<OperationReply<BatchReply>, LaurelError<BatchCode>> => {
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

  #applyAndKeep(caller: Caller, batch: BatchInput, minimal: boolean, idempotency: Idempotency) {
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
    // An answer too large for a record is not kept: a repeat finds the events by their derived ids.
    return Effect.catchIf(
      this.#engine.askProject(environment, command, held),
      ({ code }) => code === "body_too_large",
      () => Effect.void,
    )
  }

  /**
   * The reply of a kept answer to `batch`, in which the events of users who were erased since are
   * refused. A kept answer has nothing of the events: `differs` follows from the batch and the first
   * records.
   */
  #again(
    environment: string,
    { events }: BatchInput,
    answer: BatchAnswer,
  ): Effect.Effect<JsonText<BatchReply>, LaurelError<StorageCode>> {
    if ("summary" in answer) return Effect.succeed(summaryText(answer.summary as Summary))
    const results = Effect.forEach(
      answer.outcomes,
      (outcome, index): Effect.Effect<Result, LaurelError<StorageCode>> => {
        if ("status" in outcome) return Effect.succeed(outcome as Refusal)
        const event = events[index] as EventInput
        return Effect.map(this.#engine.readRecord(environment, outcome.sequence), (record) =>
          record === undefined
            ? erased
            : (replyOf(record, repeatIn(outcome, event, record)) as EventReply),
        )
      },
    )
    return Effect.map(results, (all) => new JsonText(resultsText(all, countsOf(all))))
  }

  /**
   * Applies the events. With `keyed`, events without an id of the caller get ids that begin with
   * it.
   */
  #bodyOf(
    { environment }: Caller,
    batch: BatchInput,
    minimal: boolean,
    keyed: string | undefined,
  ): Effect.Effect<Replied, LaurelError<EngineCode>> {
    const messages: Array<UserMessage<TrackedEvent>> = []
    batch.events.forEach((event, index) => {
      if (isRefusal(event)) return
      const id = keyed === undefined ? undefined : `${keyed}.${index}`
      messages.push(trackMessage(event, id, this.#imported))
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
    return Effect.flatMap(this.#engine.askUsers(environment, messages), (answers) => {
      const failure = failureOf(answers.filter(isRefusal), messages.length)
      return failure === undefined
        ? Effect.succeed(this.#outcomes(batch, answers))
        : Effect.fail(failure)
    })
  }

  #outcomes({ events, root }: BatchInput, answers: ReadonlyArray<Answered>): Replied {
    let answered = 0
    const results = events.map((event, index): Result => {
      const answer = isRefusal(event) ? event : answers[answered++]!
      if (!isRefusal(answer)) return answer
      return refusal(answer, answer === event ? "" : `${root}/${index}`)
    })
    const counts = this.#counted(countsOf(results))
    return {
      body: new JsonText(resultsText(results, counts)),
      get answer() {
        return { outcomes: results.map(keptOutcome) }
      },
    }
  }

  #summary(
    { events, root }: BatchInput,
    { accepted, differing, duplicates, refusals }: Tally,
  ): Replied {
    const told: Array<Summary["refusals"][number]> = []
    let sent = 0
    let refused = 0
    events.forEach((event, index) => {
      if (isRefusal(event)) {
        told.push({ index, ...refusal(event, "") })
      } else if (refusals[refused]?.index === sent++) {
        told.push({ index, ...refusal(refusals[refused++]!.error, `${root}/${index}`) })
      }
    })
    const counts = this.#counted({ accepted, duplicates, differing, rejected: told.length })
    const summary = { ...counts, refusals: told }
    return { body: summaryText(summary), answer: { summary } }
  }

  /** Adds the counts to the metrics. */
  #counted(counts: Counts): Counts {
    this.#metrics.tracked.add(counts.accepted)
    this.#metrics.duplicates.add(counts.duplicates)
    this.#metrics.refusedInBatches += counts.rejected
    return counts
  }
}

/** The reply to a batch, and what is kept of it for repeats. */
interface Replied {
  readonly body: JsonText<BatchReply>
  readonly answer: BatchAnswer
}

type Counts = Pick<typeof BatchSummary.Type, "accepted" | "duplicates" | "differing" | "rejected">

const countsOf = (results: ReadonlyArray<Result>): Counts => {
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

const resultsText = (
  results: ReadonlyArray<Result>,
  { accepted, differing, duplicates, rejected }: Counts,
): string => {
  let texts = ""
  for (const result of results) {
    if (texts !== "") texts += ","
    texts +=
      "status" in result
        ? JSON.stringify({ ok: false, ...result })
        : `{"ok":true,${eventMembers(result, isoTime)}`
  }
  return `{"accepted":${accepted},"duplicates":${duplicates},"differing":${differing},"rejected":${rejected},"results":[${texts}]}`
}

const summaryText = ({ refusals, ...counts }: Summary): JsonText<BatchReply> =>
  new JsonText(
    JSON.stringify({
      ...counts,
      refusals: refusals.map(({ index, ...refusal }) => ({ index, ok: false, ...refusal })),
    }),
  )

const keptOutcome = (result: Result): BatchEventOutcome | BatchEventRefusal => {
  if ("status" in result) return result
  const { sequence } = recordNameOf("evt", result.eventId)!
  if (!result.duplicate) return { sequence }
  return result.revoked
    ? { sequence, duplicate: true, revoked: true }
    : { sequence, duplicate: true }
}

/** The repeat in a kept outcome of `event`; `undefined`: the event was new. */
const repeatIn = (
  { duplicate, revoked }: BatchEventOutcome,
  event: EventInput,
  { cause }: JournalRecord,
): Repeat | undefined => {
  if (duplicate === undefined) return undefined
  const { command } = trackMessage(event, undefined, undefined)
  return { differs: contentDifferences(command, cause), revoked: revoked === true }
}

/**
 * The reply to a batch. A replayed reply has the form of the first one, whatever the repeat
 * prefers.
 */
const replyWith = (
  body: JsonText<BatchReply>,
  replayed: boolean,
  minimal: boolean,
): OperationReply<BatchReply> =>
  minimal ? { body, replayed, headers: minimalApplied } : { body, replayed }

const minimalApplied = ["Preference-Applied", "return=minimal"] as const

/** `derivedId` is the id of an event for which the caller chose none. */
const trackMessage = (
  event: EventInput,
  derivedId: string | undefined,
  imported: true | undefined,
): UserMessage<TrackedEvent> => ({
  userId: event.userId,
  command: {
    kind: "event",
    id: event.id ?? derivedId,
    action: event.action,
    occurredAt: event.occurredAt,
    metadata: event.metadata,
    imported,
  },
})

/**
 * The start of the ids that the events of a batch get from its Idempotency-Key. If the process ends
 * after the events and before their answer is kept, a repeat finds by these ids which events were
 * applied. The ids depend on the whole request: another request that reuses the key a day later
 * gets other ids.
 */
const derivedId = ({ fingerprint, key }: Idempotency): string =>
  `~${createHash("sha256").update(`${key}\n${fingerprint}`).digest("hex").slice(0, 32)}`

/**
 * The failure of a whole batch: `refusals` of its `count` events were refused. `undefined`:
 * each event has its own outcome.
 */
const failureOf = (
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

/** The disk was full for too long. The event may still become durable. */
const isUnknown = (refusal: LaurelError): refusal is LaurelError<"storage_unavailable"> =>
  refusal.code === "storage_unavailable"

/** Whether the refusal is a failure of the server, and not of the event. */
const isOurFailure = (refusal: LaurelError): refusal is LaurelError<EngineCode> =>
  errorKinds[refusal.code].status >= 500

/** `root` is put before the pointers of faults that the domain found in the event. */
const refusal = ({ code, detail, errors = [] }: LaurelError, root: string): Refusal => ({
  status: errorKinds[code].status,
  code,
  detail,
  errors: root === "" ? errors : errors.map((f) => ({ ...f, pointer: root + f.pointer })),
})

/** Stands for an event of a user who was erased after the batch. */
const erased: Refusal = {
  status: 404,
  code: "user_not_found",
  detail: "The user has since been erased.",
  errors: [],
}
