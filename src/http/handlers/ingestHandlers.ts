/**
 * Applies the messages of event trackers (`body/TrackerMessages.ts`), by the rules of the active source of
 * their kind if there is one. The receipts of the source have the outcomes of messages and the reasons for
 * refusals, since libraries of trackers do not show them.
 */
import { Effect, Result } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import { type Source, sourceOfTracker, type Tracker } from "../../domain/project/Source.ts"
import type { UserCommand } from "../../domain/record/Record.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { Engine, UserMessage } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import { scopesOf } from "../api/Common.ts"
import type { Ingest, TrackerReply } from "../api/Ingest.ts"
import { Users } from "../api/Users.ts"
import { isRefusal } from "../body/EventDecoder.ts"
import { decodeTracker, type TrackerItem, type TraitChange } from "../body/TrackerMessages.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { insufficientScope } from "../request/Problem.ts"
import { failureOf, refusal } from "./batchOperation.ts"
import { reasonOf, type SourceLog } from "./SourceLog.ts"

type Items = ReadonlyArray<TrackerItem>

interface Batch {
  readonly items: Items
  /** The source whose rules read them. */
  readonly source: Source | undefined
}

type Reply = typeof TrackerReply.Type

export const ingestHandlers = (
  engine: Engine["Service"],
  log: SourceLog,
): Handlers<typeof Ingest, { readonly segment: Batch; readonly posthog: Batch }> => {
  const operation = (tracker: Tracker) => ({
    decode: (body: Buffer, _: string, environment: string) => {
      const now = engine.timeIn(environment)
      const { sources } = engine.projectNow(environment)
      const source = sourceOfTracker(sources.values(), tracker, now)
      const items = decodeTracker(tracker, body, now, source)
      return Result.map(items, (items): Batch => ({ items, source }))
    },
    cost: ({ items }: Batch) => Math.max(1, items.length),
    handle: ({ caller, payload }: { readonly caller: Caller; readonly payload: Batch }) =>
      Effect.map(apply(engine, caller, payload.items), (body) => {
        if (payload.source !== undefined)
          note(log, payload.source.id, payload.items, body, engine.now())
        return { body }
      }),
  })
  return { segment: operation("segment"), posthog: operation("posthog") }
}

type Message = UserMessage<UserCommand>

const apply = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  caller: Caller,
  items: Items,
) {
  const { environment } = caller
  const attributes = new Attributes(engine, environment)
  const messages: Array<Message | LaurelError> = []
  const answers: Array<object> = []
  let waiting: Array<Message> = []
  const send = Effect.suspend(() => {
    const sent = waiting
    waiting = []
    return Effect.map(engine.askUsers(environment, sent), (given) => answers.push(...given))
  })
  for (const item of items) {
    if (item.kind === "ignored") continue
    const message = yield* messageOf(item, caller, attributes)
    messages.push(message)
    if ("_tag" in message) continue
    if (item.kind === "merge") {
      yield* send
      yield* begin(engine, environment, item)
    }
    waiting.push(message)
  }
  yield* send
  const failure = failureOf(answers.filter(isRefusal), answers.length)
  if (failure !== undefined) return yield* Effect.fail(failure)
  return replyTo(items, messages, answers)
})

/**
 * Creates the user into whom a known one is merged: an alias is sent at a sign-up, before anything
 * else. A merge of an unknown user is refused, and must leave none behind.
 */
const begin = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  { into, userId }: { readonly into: string; readonly userId: string },
) {
  if ((yield* engine.readUser(environment, userId)) === undefined) return
  if ((yield* engine.readUser(environment, into)) !== undefined) return
  const command = { kind: "profile", change: {} } as const
  yield* engine.askUsers(environment, [{ userId: into, command }])
})

const messageOf = Effect.fnUntraced(function* (
  item: Exclude<TrackerItem, { readonly kind: "ignored" }>,
  { scope }: Caller,
  attributes: Attributes,
) {
  if (item.kind === "refused") return item.refusal
  const { kind } = item
  if (kind === "event") {
    const { userId, ...event } = item.event
    return { userId, command: { kind, ...event } } satisfies Message
  }
  const { merge, put } = Users.endpoints
  const endpoint = kind === "merge" ? merge : put
  const scopes = scopesOf(endpoint.annotations)
  if (!scopes.includes(scope)) return insufficientScope(scopes, scope)
  const { userId } = item
  if (kind === "merge") return { userId, command: { kind, into: item.into } } satisfies Message
  const change = yield* attributes.changed(userId, item.change)
  return { userId, command: { kind, change } } satisfies Message
})

/** A change of a profile replaces all attributes, and traits name some of them. */
class Attributes {
  readonly #engine: Engine["Service"]
  readonly #environment: string
  /** Those after the changes of the batch so far, by user. */
  readonly #known = new Map<string, TraitChange["attributes"]>()

  constructor(engine: Engine["Service"], environment: string) {
    this.#engine = engine
    this.#environment = environment
  }

  /** The change of the whole profile to which a change of traits leads. */
  readonly changed = Effect.fnUntraced(function* (
    this: Attributes,
    userId: string,
    { attributes, ...change }: TraitChange,
  ) {
    const known = this.#known.get(userId)
    const user =
      known === undefined ? yield* this.#engine.readUser(this.#environment, userId) : undefined
    const all = { ...(known ?? user?.profile.attributes), ...attributes }
    this.#known.set(userId, all)
    return { ...change, attributes: all }
  })
}

/** Notes the outcomes of a batch in the receipts of the source. */
const note = (log: SourceLog, sourceId: string, items: Items, reply: Reply, at: number): void => {
  const receipts = log.of(sourceId)
  receipts.deliveries++
  receipts.lastReceivedAt = at
  receipts.events += reply.accepted
  receipts.duplicates += reply.duplicates
  receipts.ignored += reply.ignored
  receipts.refused += reply.rejected
  for (const refused of reply.refusals.slice(-limits.sourceFailuresMax)) {
    const item = items[refused.index]!
    const mapping = "mapping" in item ? item.mapping : undefined
    const head = { deliveryId: undefined, event: undefined }
    log.failed(sourceId, { at, ...head, mapping, code: refused.code, detail: reasonOf(refused) })
  }
}

/** `messages`: those of the items that are not ignored; `answers`: to those that were sent. */
const replyTo = (
  items: Items,
  messages: ReadonlyArray<Message | LaurelError>,
  answers: ReadonlyArray<object>,
): Reply => {
  const refusals: Array<Reply["refusals"][number]> = []
  let [duplicates, ignored, told, answered] = [0, 0, 0, 0]
  for (const [index, { kind }] of items.entries()) {
    if (kind === "ignored") {
      ignored++
      continue
    }
    const message = messages[told++]!
    const answer = "_tag" in message ? message : answers[answered++]!
    if ("_tag" in answer) {
      const found = refusal(answer as LaurelError, kind === "event" ? `/batch/${index}` : "")
      refusals.push({ index, ok: false, ...found })
    } else if ("duplicate" in answer && answer.duplicate === true) duplicates++
  }
  const rejected = refusals.length
  const accepted = messages.length - rejected - duplicates
  return { success: true, accepted, duplicates, ignored, rejected, refusals }
}
