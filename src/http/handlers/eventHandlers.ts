import { Effect } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import { furtherOf } from "../../domain/message/Further.ts"
import { type EventReply, replyOf } from "../../domain/message/UserReply.ts"
import type { TrackedEvent } from "../../domain/record/Record.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { recordNameOf } from "../../domain/values/Ids.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { Engine, UserMessage } from "../../engine/Engine.ts"
import { scopesOf } from "../api/Common.ts"
import { type BatchOutcome, type EventOutcome, Events } from "../api/Events.ts"
import { JsonText } from "../body/Body.ts"
import {
  type BatchInput,
  type DecodingTurns,
  decodeEventBody,
  type EventInput,
  eventItems,
} from "../body/EventDecoder.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import type { OperationReply } from "../contract/Operation.ts"
import { insufficientScope } from "../request/Problem.ts"
import type { EventMetrics } from "../request/RequestMetrics.ts"
import { type BatchKind, batchOperation } from "./batchOperation.ts"
import { readByOurId, readRevocation } from "./readHistory.ts"
import { showBadges } from "./Shapes.ts"

type Shown = typeof EventOutcome.Type

interface Inputs {
  readonly track: EventInput
  readonly trackBatch: BatchInput<EventInput>
  readonly importBatch: BatchInput<EventInput>
}

export const eventHandlers = (
  engine: Engine["Service"],
  metrics: EventMetrics,
  turns: DecodingTurns,
): Handlers<typeof Events, Inputs> => {
  const batches = (imported: true | undefined) =>
    batchOperation<EventInput, EventReply, typeof BatchOutcome.Type>(
      engine,
      turns,
      eventBatches(metrics, imported),
    )
  return {
    track: trackHandler(engine, metrics),
    get: { handle: readEvent(engine) },
    trackBatch: batches(undefined),
    importBatch: batches(true),
  }
}

/** `imported` marks the events of imports. */
const eventBatches = (
  metrics: EventMetrics,
  imported: true | undefined,
): BatchKind<EventInput, EventReply> => ({
  items: eventItems,
  message: (event, derivedId) => trackMessage(event, derivedId, imported),
  members: (reply) => eventMembers(reply, isoTime),
  sequenceOf: ({ eventId }) => recordNameOf("evt", eventId)!.sequence,
  counted: ({ accepted, duplicates, rejected }) => {
    metrics.tracked.add(accepted)
    metrics.duplicates.add(duplicates)
    metrics.refusedInBatches += rejected
  },
})

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
    const {
      badges,
      boosts,
      eventId,
      level,
      matched,
      metrics,
      points,
      quests,
      streaks,
      withheld,
      xp,
    } = reply
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
        ...furtherOf(reply),
        level,
        badges: showBadges(badges),
        quests,
        streaks,
        ...(boosts.length === 0 ? {} : { boosts }),
        ...(metrics.length === 0 ? {} : { metrics }),
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
  return `"eventId":"${reply.eventId}","userId":${JSON.stringify(reply.userId)},"action":"${reply.action}","duplicate":${reply.duplicate}${repeatText(reply)},"occurredAt":"${isoTime(reply.occurredAt)}","receivedAt":"${isoTime(reply.receivedAt)}","xp":{"earned":${xp.earned},"total":${xp.total}},"points":{"earned":${points.earned},"total":${points.total}}${furtherText(reply)},"level":{"before":${level.before},"after":${level.after}},"badges":${badgesText(reply.badges)},"quests":${listText(reply.quests)},"streaks":${listText(reply.streaks)}${reply.boosts.length === 0 ? "" : `,"boosts":${JSON.stringify(reply.boosts)}`}${reply.metrics.length === 0 ? "" : `,"metrics":${JSON.stringify(reply.metrics)}`}${reply.matched ? "" : unmatched}${reply.withheld.length === 0 ? "" : `,"withheld":${JSON.stringify(reply.withheld)}`}}`
}

/** The members about further currencies, which few replies have. */
const furtherText = (reply: EventReply): string => {
  const further = furtherOf(reply)
  return further === undefined ? "" : `,${JSON.stringify(further).slice(1, -1)}`
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
