import { createHash } from "node:crypto"
import { Effect } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import type { EventReply } from "../../domain/message/UserReply.ts"
import type { TrackedEvent } from "../../domain/record/Record.ts"
import { errorKinds, type LaurelError } from "../../domain/values/Errors.ts"
import { makeIsoTime } from "../../domain/values/isoTime.ts"
import type {
  Engine,
  EngineCode,
  Idempotency,
  IdempotencyCode,
  Outcome,
  UserMessage,
} from "../../engine/Engine.ts"
import type { BatchOutcome, EventOutcome, EventRefusal, Events } from "../api/Events.ts"
import { batchSteps } from "../body/BatchDecoder.ts"
import { DecodingTurns } from "../body/DecodingTurns.ts"
import {
  type BatchInput,
  decodeEventBody,
  type EventInput,
  isRefusal,
} from "../body/EventDecoder.ts"
import { JsonText } from "../body/JsonText.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import type { OperationReply, OperationRequest } from "../contract/Operation.ts"
import type { EventMetrics } from "../request/RequestMetrics.ts"
import { eventText } from "./EventText.ts"
import { factOf } from "./Shapes.ts"

type Shown = typeof EventOutcome.Type
type Answered = Outcome<TrackedEvent>
type Refusal = typeof EventRefusal.Type
type BatchReply = typeof BatchOutcome.Type
type BatchAnswered = Effect.Effect<
  OperationReply<BatchReply>,
  LaurelError<EngineCode | "body_too_large" | IdempotencyCode>
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
  const isoTime = makeIsoTime()
  const turns = new DecodingTurns()

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
    const rejected = events.length - accepted - duplicates
    metrics.tracked.add(accepted)
    metrics.duplicates.add(duplicates)
    metrics.refusedInBatches += rejected
    return new JsonText(
      `{"accepted":${accepted},"duplicates":${duplicates},"rejected":${rejected},"results":[${results}]}`,
    )
  }

  /** Applies the events of a batch; `keyed` gives those without an id of the caller's one of their own. */
  const apply = (
    { environment }: Caller,
    batch: BatchInput,
    keyed: string | undefined,
    imported: true | undefined,
  ) => {
    const messages: Array<UserMessage<TrackedEvent>> = []
    batch.events.forEach((event, index) => {
      if (isRefusal(event)) return
      const id = keyed === undefined ? undefined : `${keyed}.${index}`
      messages.push(trackMessage(event, id, imported))
    })
    return Effect.flatMap(engine.askUsers(environment, messages), (answers) => {
      const [first] = answers
      // The caller of a batch whose outcome is unknown must not take 200 for it.
      const unknown = answers.find(isUnknown)
      if (unknown !== undefined) return Effect.fail(unknown)
      return first !== undefined && isOurFailure(first) && answers.every(isOurFailure)
        ? Effect.fail(first)
        : Effect.succeed(batchReply(batch, answers))
    })
  }

  const applyOnce = (
    caller: Caller,
    batch: BatchInput,
    idempotency: Idempotency,
    imported: true | undefined,
  ) =>
    Effect.flatMap(
      engine.reserve<never>(caller.environment, idempotency),
      (reservation): BatchAnswered => {
        if (!reservation.fresh) {
          const { results } = factOf(reservation.record, "batch.answered")
          return Effect.succeed({ body: results as BatchReply, replayed: true })
        }
        return Effect.gen(function* () {
          const body = yield* apply(caller, batch, derivedId(idempotency), imported)
          const reply = body.parse()
          // An answer with a failure of the server is not kept: a repeat may succeed.
          if (!reply.results.some((result) => "status" in result && result.status >= 500)) {
            const command = { kind: "keepBatch", results: reply } as const
            const held = { ...idempotency, reserved: true } as const
            // Results too large for a record are not kept: a repeat finds the events by their derived ids.
            yield* Effect.catchIf(
              engine.askProject(caller.environment, command, held),
              ({ code }) => code === "body_too_large",
              () => Effect.void,
            )
          }
          return { body, replayed: false }
        }).pipe(Effect.ensuring(Effect.sync(reservation.release)), Effect.uninterruptible)
      },
    )

  const batches = (imported: true | undefined) => ({
    decode: (body: Buffer, mediaType: string) => turns.run(batchSteps(body, mediaType)),
    cost: ({ events }: BatchInput) => events.length,
    handle: ({ caller, idempotency, payload }: OperationRequest<unknown, unknown, BatchInput>) =>
      idempotency === undefined
        ? Effect.map(apply(caller, payload, undefined, imported), (body) => ({ body }))
        : applyOnce(caller, payload, idempotency, imported),
  })

  const tracked = (reply: EventReply, replayed: boolean): OperationReply<Shown> => {
    if (replayed || reply.duplicate) metrics.duplicates.increment()
    else metrics.tracked.increment()
    return { body: new JsonText<Shown>(eventText(reply, isoTime)), replayed }
  }

  return {
    track: {
      decode: decodeEventBody,
      handle: ({ caller, idempotency, payload }) => {
        const message = trackMessage(payload, undefined, undefined)
        const answer = engine.askUser(caller.environment, message, idempotency)
        return Effect.map(answer, ({ replayed, reply }) => tracked(reply, replayed))
      },
      handleWithCallback: ({ caller, payload }, annotations, done) => {
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

/** The disk was full for too long; what the event did may become durable later. */
const isUnknown = (answer: Answered): answer is LaurelError<"storage_unavailable"> =>
  "_tag" in answer && answer.code === "storage_unavailable"

/** Of an event's codes only the engine's own stand for a failure of the server. */
const isOurFailure = (answer: Answered): answer is LaurelError<EngineCode> =>
  "_tag" in answer && errorKinds[answer.code].status >= 500

/** `root` goes before the pointers of faults that the domain found in one event. */
const refusal = ({ code, detail, errors = [] }: LaurelError, root: string): Refusal => ({
  status: errorKinds[code].status,
  code,
  detail,
  errors: root === "" ? errors : errors.map((f) => ({ ...f, pointer: root + f.pointer })),
})
