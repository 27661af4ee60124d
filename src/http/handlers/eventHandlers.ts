import { createHash } from "node:crypto"
import { Effect } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import type { EventReply } from "../../domain/message/UserReply.ts"
import type { TrackedEvent } from "../../domain/record/Record.ts"
import { errorKinds, type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type {
  Engine,
  EngineCode,
  Idempotency,
  IdempotencyCode,
  Outcome,
  Tally,
  UserMessage,
} from "../../engine/Engine.ts"
import type {
  BatchOutcome,
  BatchSummary,
  EventOutcome,
  EventRefusal,
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
import { prefersMinimal } from "../request/RequestHead.ts"
import type { EventMetrics } from "../request/RequestMetrics.ts"
import { factOf, showBadges } from "./Shapes.ts"

/*
 * The outcome of an event, as JSON. Nearly all replies are made of this, up to a thousand to a batch, and their
 * members are few and known: written one by one, which is faster than making objects for
 * `JSON.stringify`. The text is the same (a test compares them).
 */

/** The JSON of the contract's `EventOutcome`. `isoTime` writes epoch milliseconds. */
export const eventText = (reply: EventReply, isoTime: (ms: number) => string): string => {
  const { level, points, xp } = reply
  // Laurel's own ids, actions and times have nothing to escape.
  return `{"eventId":"${reply.eventId}","userId":${JSON.stringify(reply.userId)},"action":"${reply.action}","duplicate":${reply.duplicate},"occurredAt":"${isoTime(reply.occurredAt)}","receivedAt":"${isoTime(reply.receivedAt)}","xp":{"earned":${xp.earned},"total":${xp.total}},"points":{"earned":${points.earned},"total":${points.total}},"level":{"before":${level.before},"after":${level.after}},"badges":${badgesText(reply.badges)},"quests":${listText(reply.quests)},"streaks":${listText(reply.streaks)}${reply.matched ? "" : unmatched}${reply.withheld.length === 0 ? "" : `,"withheld":${JSON.stringify(reply.withheld)}`}}`
}

const unmatched = `,"matched":false`

const badgesText = (badges: EventReply["badges"]): string =>
  badges.length === 0 ? "[]" : JSON.stringify(showBadges(badges))

const listText = (
  list: (typeof EventOutcome.Type)["quests"] | (typeof EventOutcome.Type)["streaks"],
): string => (list.length === 0 ? "[]" : JSON.stringify(list))

type Shown = typeof EventOutcome.Type
type Answered = Outcome<TrackedEvent>
type Refusal = typeof EventRefusal.Type
type BatchReply = typeof BatchOutcome.Type | typeof BatchSummary.Type
type BatchAnswered = Effect.Effect<
  OperationReply<BatchReply>,
  LaurelError<EngineCode | "body_too_large" | IdempotencyCode>
>

type BatchRequest = OperationRequest<
  unknown,
  unknown,
  BatchInput,
  { readonly prefer?: string | undefined }
>

/** How the events of a batch are applied, and whether the reply leaves their outcomes out. */
interface BatchForm {
  readonly imported: true | undefined
  readonly minimal: boolean
}

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

  const counted = (accepted: number, duplicates: number, rejected: number): string => {
    metrics.tracked.add(accepted)
    metrics.duplicates.add(duplicates)
    metrics.refusedInBatches += rejected
    return `"accepted":${accepted},"duplicates":${duplicates},"rejected":${rejected}`
  }

  const batchReply = (
    { events, root }: BatchInput,
    answers: ReadonlyArray<Answered>,
  ): JsonText<BatchReply> => {
    let accepted = 0
    let duplicates = 0
    let answered = 0
    let results = ""
    events.forEach((event, index) => {
      if (index > 0) results += ","
      const answer = isRefusal(event) ? event : answers[answered++]!
      if (isRefusal(answer)) {
        results += JSON.stringify(refusal(answer, answer === event ? "" : `${root}/${index}`))
        return
      }
      if (answer.duplicate) duplicates++
      else accepted++
      results += eventText(answer, isoTime)
    })
    const counts = counted(accepted, duplicates, events.length - accepted - duplicates)
    return new JsonText(`{${counts},"results":[${results}]}`)
  }

  const summary = (
    { events, root }: BatchInput,
    { accepted, duplicates, refusals }: Tally,
  ): JsonText<BatchReply> => {
    const shown: Array<(typeof BatchSummary.Type)["refusals"][number]> = []
    let sent = 0
    let refused = 0
    events.forEach((event, index) => {
      if (isRefusal(event)) {
        shown.push({ index, ...refusal(event, "") })
      } else if (refusals[refused]?.index === sent++) {
        shown.push({ index, ...refusal(refusals[refused++]!.error, `${root}/${index}`) })
      }
    })
    const counts = counted(accepted, duplicates, shown.length)
    return new JsonText(`{${counts},"refusals":${JSON.stringify(shown)}}`)
  }

  /** Applies the events of a batch; `keyed` gives those without an id of the caller's one of their own. */
  const apply = (
    { environment }: Caller,
    batch: BatchInput,
    keyed: string | undefined,
    { imported, minimal }: BatchForm,
  ) => {
    const messages: Array<UserMessage<TrackedEvent>> = []
    batch.events.forEach((event, index) => {
      if (isRefusal(event)) return
      const id = keyed === undefined ? undefined : `${keyed}.${index}`
      messages.push(trackMessage(event, id, imported))
    })
    if (minimal) {
      return Effect.flatMap(engine.tellUsers(environment, messages), (tally) => {
        const failure = failureOf(
          tally.refusals.map(({ error }) => error),
          messages.length,
        )
        return failure === undefined ? Effect.succeed(summary(batch, tally)) : Effect.fail(failure)
      })
    }
    return Effect.flatMap(engine.askUsers(environment, messages), (answers) => {
      const failure = failureOf(answers.filter(isRefusal), messages.length)
      return failure === undefined
        ? Effect.succeed(batchReply(batch, answers))
        : Effect.fail(failure)
    })
  }

  const applyOnce = (
    caller: Caller,
    batch: BatchInput,
    idempotency: Idempotency,
    form: BatchForm,
  ) =>
    Effect.flatMap(
      engine.reserve<never>(caller.environment, idempotency),
      (reservation): BatchAnswered => {
        if (!reservation.fresh) {
          const { results } = factOf(reservation.record, "batch.answered")
          return Effect.succeed(replyWith(results as BatchReply, true))
        }
        return Effect.gen(function* () {
          const body = yield* apply(caller, batch, derivedId(idempotency), form)
          const reply = body.parse()
          const each = "results" in reply ? reply.results : reply.refusals
          // An answer with a failure of the server is not kept: a repeat may succeed.
          if (!each.some((result) => "status" in result && result.status >= 500)) {
            const command = { kind: "keepBatch", results: reply } as const
            const held = { ...idempotency, reserved: true } as const
            // Results too large for a record are not kept: a repeat finds the events by their derived ids.
            yield* Effect.catchIf(
              engine.askProject(caller.environment, command, held),
              ({ code }) => code === "body_too_large",
              () => Effect.void,
            )
          }
          return replyWith(body, false, form.minimal)
        }).pipe(Effect.ensuring(Effect.sync(reservation.release)), Effect.uninterruptible)
      },
    )

  const batches = (imported: true | undefined) => ({
    decode: (body: Buffer, mediaType: string, environment: string) =>
      turns.run(environment, batchSteps(body, mediaType)),
    cost: ({ events }: BatchInput) => events.length,
    handle: ({ caller, headers, idempotency, payload }: BatchRequest) => {
      const form = { imported, minimal: prefersMinimal(headers.prefer) }
      return idempotency === undefined
        ? Effect.map(apply(caller, payload, undefined, form), (body) =>
            replyWith(body, false, form.minimal),
          )
        : applyOnce(caller, payload, idempotency, form)
    },
  })

  /** Why a user token may not send an event; what it names was checked before. */
  const tokenRefusal = (
    { environment, userId }: Caller,
    { action, occurredAt }: EventInput,
  ): LaurelError<"insufficient_scope"> | undefined => {
    if (userId === undefined) return undefined
    if (occurredAt !== undefined) return datedEvent
    const { clientActions = [] } = engine.projectNow(environment).settings
    return clientActions.includes(action) ? undefined : unlistedAction(action)
  }

  const tracked = (reply: EventReply, replayed: boolean): OperationReply<Shown> => {
    if (replayed || reply.duplicate) metrics.duplicates.increment()
    else metrics.tracked.increment()
    return { body: new JsonText<Shown>(eventText(reply, isoTime)), replayed }
  }

  return {
    track: {
      decode: decodeEventBody,
      handle: ({ caller, idempotency, payload }) => {
        const refused = tokenRefusal(caller, payload)
        if (refused !== undefined) return Effect.fail(refused)
        const message = trackMessage(payload, undefined, undefined)
        const answer = engine.askUser(caller.environment, message, idempotency)
        return Effect.map(answer, ({ replayed, reply }) => tracked(reply, replayed))
      },
      handleWithCallback: ({ caller, payload }, annotations, done) => {
        const refused = tokenRefusal(caller, payload)
        if (refused !== undefined) {
          done(() => refused)
          return
        }
        const message = trackMessage(payload, undefined, undefined)
        engine.askUserWithCallback(caller.environment, message, annotations, (answer) =>
          done(() => ("_tag" in answer ? answer : tracked(answer, false))),
        )
      },
    },
    trackBatch: batches(undefined),
    importBatch: batches(true),
  }
}

const datedEvent = laurelError(
  "insufficient_scope",
  "A user token may not date an event. Send it without occurredAt.",
)

const unlistedAction = (action: string) =>
  laurelError(
    "insufficient_scope",
    `A user token may send the actions that the project's setting clientActions lists; ${action} is none of them.`,
  )

/** The reply to a batch; a replayed one has the form of the first, whatever is preferred now. */
const replyWith = (
  body: BatchReply | JsonText<BatchReply>,
  replayed: boolean,
  minimal = "refusals" in body,
): OperationReply<BatchReply> =>
  minimal ? { body, replayed, headers: minimalApplied } : { body, replayed }

const minimalApplied = ["Preference-Applied", "return=minimal"] as const

/** `derivedId` is for an event without an id of the caller's. */
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
 * The start of the ids that a batch's events get from its Idempotency-Key. If the process ends between the
 * events and the kept answer, the repeat finds by these ids which events were applied. They depend on the
 * whole request, so that another batch under the same key, a day later, is another batch.
 */
const derivedId = ({ fingerprint, key }: Idempotency): string =>
  `~${createHash("sha256").update(`${key}\n${fingerprint}`).digest("hex").slice(0, 32)}`

/** The failure of a batch as a whole, of whose `count` events these were refused; `undefined`: each has its own outcome. */
const failureOf = (
  refusals: ReadonlyArray<LaurelError>,
  count: number,
): LaurelError<EngineCode> | undefined => {
  // The caller of a batch whose outcome is unknown must not take 200 for it.
  const unknown = refusals.find(isUnknown)
  if (unknown !== undefined) return unknown
  const [first] = refusals
  const isWhole = refusals.length === count && refusals.every(isOurFailure)
  return isWhole && first !== undefined && isOurFailure(first) ? first : undefined
}

/** The disk was full for too long; what the event did may become durable later. */
const isUnknown = (refusal: LaurelError): refusal is LaurelError<"storage_unavailable"> =>
  refusal.code === "storage_unavailable"

/** Of an event's codes only the engine's own stand for a failure of the server. */
const isOurFailure = (refusal: LaurelError): refusal is LaurelError<EngineCode> =>
  errorKinds[refusal.code].status >= 500

/** `root` goes before the pointers of faults that the domain found in one event. */
const refusal = ({ code, detail, errors = [] }: LaurelError, root: string): Refusal => ({
  status: errorKinds[code].status,
  code,
  detail,
  errors: root === "" ? errors : errors.map((f) => ({ ...f, pointer: root + f.pointer })),
})
