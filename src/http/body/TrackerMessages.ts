/**
 * Reads the messages of event trackers as commands to users: Segment's batches
 * (https://segment.com/docs/connections/sources/catalog/libraries/server/http-api/) and PostHog's
 * (https://posthog.com/docs/api/capture).
 *
 * A message becomes an event, a change of a profile, a merge, or nothing:
 * - An event's action is its name in capitals, with `_` for all other characters: "Order Completed"
 *   is `ORDER_COMPLETED`. Its properties are the metadata, and the tracker's id of the message is the
 *   event's id, so a batch that the tracker repeats counts once.
 * - A time in the future counts as now, since clocks of devices are wrong.
 * - Of the traits, `name` becomes the display name, `avatar` the attribute `avatarUrl`, and all other
 *   texts, numbers and booleans become attributes, but for those that name a person (`personal`).
 */
import { Result } from "effect"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { type Fault, invalidRequest } from "../../domain/values/Errors.ts"
import { parseIsoTime } from "../../domain/values/isoTime.ts"
import { limits } from "../../Limits.ts"
import { UserId } from "../api/Common.ts"
import { ProfileChange } from "../api/UserShapes.ts"
import { type BodyRefusal, parseBody } from "./Body.ts"
import { decodeEvent, type EventInput, strictInput } from "./EventDecoder.ts"
import { inputDecoder } from "./InputDecoder.ts"

/** What a message asks for. `ignored`: it is of a kind that Laurel has no use for. */
export type TrackerItem =
  | { readonly kind: "event"; readonly event: EventInput }
  | { readonly kind: "profile"; readonly userId: string; readonly change: TraitChange }
  | { readonly kind: "merge"; readonly userId: string; readonly into: string }
  | { readonly kind: "ignored" }
  | { readonly kind: "refused"; readonly refusal: LaurelError<"invalid_request"> }

/** The traits of a message. Attributes that it does not name stay as they are. */
export interface TraitChange {
  readonly displayName?: string
  readonly attributes: Readonly<Record<string, string | number | boolean>>
}

export type Tracker = "segment" | "posthog"

type Members = Readonly<Record<string, unknown>>

/** The messages of a body, in order. `now`: epoch milliseconds. */
export const decodeTracker = (
  tracker: Tracker,
  body: Buffer,
  now: number,
): Result.Result<ReadonlyArray<TrackerItem>, BodyRefusal> =>
  Result.flatMap(parseBody(body), (value) => {
    const messages = isMembers(value) ? value.batch : undefined
    const refuse = (code: string, detail: string) =>
      Result.fail(invalidRequest([{ pointer: "/batch", code, detail }]))
    if (!Array.isArray(messages)) return refuse("invalid_type", "must be a list of messages")
    if (messages.length > limits.batchItemsMax) {
      return refuse("too_long", `must have at most ${limits.batchItemsMax} messages`)
    }
    const read = tracker === "segment" ? segmentItem : posthogItem
    return Result.succeed(
      messages.map((message, index): TrackerItem => {
        const root = `/batch/${index}`
        return isMembers(message) ? read(message, root, now) : noMessage(root)
      }),
    )
  })

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const refused = (faults: ReadonlyArray<Fault>): TrackerItem => ({
  kind: "refused",
  refusal: invalidRequest(faults),
})

const noMessage = (root: string): TrackerItem =>
  refused([{ pointer: root, code: "invalid_type", detail: "must be an object" }])

/* Segment. */

const segmentItem = (message: Members, root: string, now: number): TrackerItem => {
  // Before a sign-in a message has the id of the visitor alone.
  const [userId, at] =
    message.userId === undefined || message.userId === null
      ? [message.anonymousId, "anonymousId"]
      : [message.userId, "userId"]
  switch (message.type) {
    case "track": {
      const { event, messageId, properties, timestamp } = message
      const sent = { userId, name: event, metadata: properties, id: messageId, timestamp }
      return eventItem(sent, { userId: at, action: "event", id: "messageId" }, root, now)
    }
    case "identify":
      return profileItem(userId, message.traits, `${root}/${at}`, `${root}/traits`)
    case "alias":
      return mergeItem(message.previousId, userId, `${root}/previousId`, `${root}/${at}`)
    default:
      return { kind: "ignored" }
  }
}

/* PostHog. */

const posthogItem = (message: Members, root: string, now: number): TrackerItem => {
  const { distinct_id: userId, event, properties, timestamp, uuid } = message
  const more = isMembers(properties) ? properties : {}
  switch (event) {
    case "$identify":
    case "$set":
      return profileItem(userId, more.$set ?? message.$set, `${root}/distinct_id`, `${root}/$set`)
    case "$create_alias":
      return mergeItem(more.alias, userId, `${root}/properties/alias`, `${root}/distinct_id`)
  }
  // Names with a dollar sign are PostHog's own, such as those of page views.
  if (typeof event === "string" && event.startsWith("$")) return { kind: "ignored" }
  const own = Object.entries(more).filter(([name]) => !name.startsWith("$"))
  const metadata = Object.fromEntries(own)
  const sent = { userId, name: event, metadata, id: uuid, timestamp }
  return eventItem(sent, { userId: "distinct_id", action: "event", id: "uuid" }, root, now)
}

/* What messages become. */

interface Sent {
  readonly userId: unknown
  readonly name: unknown
  readonly metadata: unknown
  readonly id: unknown
  readonly timestamp: unknown
}

/** `names`: the members of the message that have the event's. */
const eventItem = (
  { id, metadata, name, timestamp, userId }: Sent,
  names: Readonly<Record<string, string>>,
  root: string,
  now: number,
): TrackerItem => {
  const action = typeof name === "string" ? actionOf(name) : name
  const at = typeof timestamp === "string" ? parseIsoTime(timestamp) : undefined
  const occurredAt = at === undefined || at < now ? timestamp : undefined
  const given = { userId, action, metadata, id, occurredAt }
  const event = Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined && value !== null),
  )
  const decoded = decodeEvent(event, root, limits.faultsMax)
  if (Result.isSuccess(decoded)) return { kind: "event", event: decoded.success }
  const faults = decoded.failure.map((fault) => {
    const [, member = "", rest = ""] = /^\/(\w+)(.*)$/s.exec(fault.pointer.slice(root.length)) ?? []
    const own = { ...names, metadata: "properties", occurredAt: "timestamp" }[member] ?? member
    const detail = member === "action" ? noAction : fault.detail
    return { ...fault, pointer: `${root}/${own}${rest}`, detail }
  })
  return refused(faults)
}

const noAction =
  "must be a name that becomes 1 to 64 capitals, digits and underscores, beginning with a letter"

/** The action of an event with this name. */
const actionOf = (name: string): string =>
  name
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .toUpperCase()
    .replace(/[^A-Z\d]+/g, "_")
    .replace(/^_+|_+$/g, "")

const decodeUserId = inputDecoder<string>(UserId, strictInput)
const decodeProfile = inputDecoder<typeof ProfileChange.Type>(ProfileChange, strictInput)

const userFaults = (userId: unknown, pointer: string): ReadonlyArray<Fault> => {
  if (userId === undefined || userId === null) {
    return [{ pointer, code: "missing", detail: "is required" }]
  }
  const decoded = decodeUserId(userId, pointer, limits.faultsMax)
  return Result.isFailure(decoded) ? decoded.failure : []
}

const mergeItem = (from: unknown, into: unknown, fromAt: string, intoAt: string): TrackerItem => {
  const faults = [...userFaults(from, fromAt), ...userFaults(into, intoAt)]
  if (faults.length > 0) return refused(faults)
  return { kind: "merge", userId: from as string, into: into as string }
}

/** Traits that name a person, or where to reach one. They stay with the tracker. */
const personal = new Set([
  ...["address", "birthday", "description", "email", "firstName", "gender", "id", "lastName"],
  ...["name", "phone", "username", "website", "avatar", "createdAt", "age"],
])

const profileItem = (
  userId: unknown,
  traits: unknown,
  userAt: string,
  traitsAt: string,
): TrackerItem => {
  const given = isMembers(traits) ? traits : {}
  const attributes = Object.entries(given).filter(
    ([name, value]) =>
      !personal.has(name) &&
      !name.startsWith("$") &&
      /^(string|number|boolean)$/.test(typeof value),
  )
  if (typeof given.avatar === "string") attributes.push(["avatarUrl", given.avatar])
  const change = {
    ...(typeof given.name === "string" && { displayName: given.name }),
    attributes: Object.fromEntries(attributes),
  }
  const decoded = decodeProfile(change, traitsAt, limits.faultsMax)
  const faults = [
    ...userFaults(userId, userAt),
    ...(Result.isFailure(decoded) ? decoded.failure : []),
  ]
  if (faults.length > 0) return refused(faults)
  return { kind: "profile", userId: userId as string, change: change as TraitChange }
}
