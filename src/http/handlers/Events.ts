import { createHash } from "node:crypto"
import { Effect } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import { errorKinds, type LaurelError } from "../../domain/Errors.ts"
import type { UserReply } from "../../domain/User.ts"
import type { Engine, Idempotency, UserMessage } from "../../engine/Engine.ts"
import type { BatchOutcome, EventOutcome, EventRefusal, Events } from "../api/Events.ts"
import {
  type BatchInput,
  decodeBatchBody,
  decodeEventBody,
  type EventInput,
  isRefusal,
} from "../EventDecoder.ts"
import { makeId } from "../Ids.ts"
import type { Handlers } from "../Interpreter.ts"
import { factOf, makeIsoTime } from "./Shapes.ts"

type Outcome = typeof EventOutcome.Type
type Refusal = typeof EventRefusal.Type
type BatchReply = typeof BatchOutcome.Type

export const eventHandlers = (
  engine: Engine["Service"],
): Handlers<typeof Events, { readonly track: EventInput; readonly trackBatch: BatchInput }> => {
  const isoTime = makeIsoTime()

  const eventOutcome = (reply: UserReply): Outcome => {
    if (reply.kind !== "event") throw new Error("An event was answered as a reward")
    return {
      eventId: reply.eventId,
      userId: reply.userId,
      action: reply.action,
      duplicate: reply.duplicate,
      occurredAt: isoTime(reply.occurredAt),
      receivedAt: isoTime(reply.receivedAt),
      xp: reply.xp,
      points: reply.points,
      level: reply.level,
      badges: [],
      quests: reply.quests.map(({ alreadyCompleted, questId, title }) => ({
        questId,
        title,
        status: "completed",
        progress: 1,
        alreadyCompleted,
      })),
      streaks: [],
    }
  }

  const batchReply = (
    { events, root }: BatchInput,
    answers: ReadonlyArray<UserReply | LaurelError>,
  ): BatchReply => {
    let accepted = 0
    let duplicates = 0
    let answered = 0
    const results = events.map((event, index): Outcome | Refusal => {
      if (isRefusal(event)) return refusal(event, "")
      const answer = answers[answered++]!
      if ("_tag" in answer) return refusal(answer, `${root}/${index}`)
      if (answer.duplicate) duplicates++
      else accepted++
      return eventOutcome(answer)
    })
    return { accepted, duplicates, rejected: events.length - accepted - duplicates, results }
  }

  /** Applies the events of a batch; `keyed` gives those without an id of the caller's one of their own. */
  const apply = (caller: Caller, batch: BatchInput, keyed: string | undefined) => {
    const messages: Array<UserMessage> = []
    batch.events.forEach((event, index) => {
      if (isRefusal(event)) return
      const id = keyed === undefined ? undefined : `${keyed}.${index}`
      messages.push(trackMessage(event, id))
    })
    return Effect.flatMap(engine.askUsers(caller.environment, messages), (answers) => {
      const [first] = answers
      // Where nothing could be taken at all, the whole request should be asked again.
      return first !== undefined && answers.every(isOurFailure)
        ? Effect.fail(first as LaurelError)
        : Effect.succeed(batchReply(batch, answers))
    })
  }

  const applyOnce = (caller: Caller, batch: BatchInput, idempotency: Idempotency) =>
    Effect.flatMap(engine.reserve(caller.environment, idempotency), (reservation) => {
      if (!reservation.fresh) {
        const { results } = factOf(reservation.record, "batch.answered")
        return Effect.succeed({ body: results as BatchReply, replayed: true })
      }
      return Effect.gen(function* () {
        const reply = yield* apply(caller, batch, derivedId(idempotency))
        // What failed here may go well next time: such an answer is not for keeping.
        if (!reply.results.some((result) => "status" in result && result.status >= 500)) {
          const command = { kind: "keepBatch", results: reply } as const
          yield* engine.askProject(caller.environment, command, idempotency)
        }
        return { body: reply, replayed: false }
      }).pipe(Effect.ensuring(Effect.sync(reservation.release)), Effect.uninterruptible)
    })

  return {
    track: {
      decode: decodeEventBody,
      handle: ({ caller, idempotency, payload }) =>
        Effect.map(
          engine.askUser(caller.environment, trackMessage(payload, undefined), idempotency),
          ({ replayed, reply }) => ({ body: eventOutcome(reply), replayed }),
        ),
    },
    trackBatch: {
      decode: decodeBatchBody,
      cost: (batch) => batch.events.length,
      handle: ({ caller, idempotency, payload }) =>
        idempotency === undefined
          ? Effect.map(apply(caller, payload, undefined), (body) => ({ body }))
          : applyOnce(caller, payload, idempotency),
    },
  }
}

/** `derivedId` is for an event without an id of the caller's. */
const trackMessage = (event: EventInput, derivedId: string | undefined): UserMessage => ({
  userId: event.userId,
  command: {
    kind: "event",
    eventId: makeId("evt"),
    id: event.id ?? derivedId,
    action: event.action,
    occurredAt: event.occurredAt,
    metadata: event.metadata,
  },
})

/**
 * The start of the ids that a batch's events get from its Idempotency-Key. If the process ends between the
 * events and the kept answer, the repeat finds by these ids which events were applied. They depend on the
 * whole request, so that another batch under the same key, a day later, is another batch.
 */
const derivedId = ({ fingerprint, key }: Idempotency): string =>
  `~${createHash("sha256").update(`${key}\n${fingerprint}`).digest("hex").slice(0, 32)}`

const isOurFailure = (answer: UserReply | LaurelError): boolean =>
  "_tag" in answer && errorKinds[answer.code].status >= 500

/** `root` goes before the pointers of faults that the domain found in one event. */
const refusal = ({ code, detail, errors = [] }: LaurelError, root: string): Refusal => ({
  status: errorKinds[code].status,
  code,
  detail,
  errors: root === "" ? errors : errors.map((f) => ({ ...f, pointer: root + f.pointer })),
})
