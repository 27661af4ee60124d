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
 *
 * A source of the environment (`domain/project/Source.ts`) may change this: by mappings, whose pointers
 * lead into the message, and by rules for all other messages. A mapping may also make an event of a message that is
 * ignored otherwise, such as a page view.
 */
import { Result } from "effect"
import {
  type CompiledMapping,
  mappingsFor,
  type Tracker,
  type TrackerRules,
  type TrackerSource,
  type TraitRules,
} from "../../domain/project/Source.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { type Fault, invalidRequest } from "../../domain/values/Errors.ts"
import { isoTime, parseIsoTime } from "../../domain/values/isoTime.ts"
import { pointerPath, valueAt, valueAtPath } from "../../domain/values/jsonPointer.ts"
import { limits } from "../../Limits.ts"
import { avatarAttribute } from "../api/Attributes.ts"
import { UserId } from "../api/Common.ts"
import { ProfileChange } from "../api/UserShapes.ts"
import { type BodyRefusal, parseBody } from "./Body.ts"
import { decodeEvent, type EventInput, strictInput } from "./EventDecoder.ts"
import { inputDecoder } from "./InputDecoder.ts"
import { foundMembers, idText, noId, noTime, noUser, timeAt } from "./SourceDelivery.ts"

/** A message as a command to a user. `ignored`: Laurel has no use for its kind. */
export type TrackerItem =
  | { readonly kind: "event"; readonly event: EventInput; readonly mapping?: number }
  | { readonly kind: "profile"; readonly userId: string; readonly change: TraitChange }
  | { readonly kind: "merge"; readonly userId: string; readonly into: string }
  | { readonly kind: "ignored" }
  | {
      readonly kind: "refused"
      readonly refusal: LaurelError<"invalid_request">
      readonly mapping?: number
    }

/** The traits of a message. Attributes that it does not name stay as they are. */
export interface TraitChange {
  readonly displayName?: string
  readonly attributes: Readonly<Record<string, string | number | boolean>>
}

type Members = Readonly<Record<string, unknown>>

/** The messages of a body, in order. `now`: epoch milliseconds. */
export const decodeTracker = (
  tracker: Tracker,
  body: Buffer,
  now: number,
  source?: TrackerSource,
): Result.Result<ReadonlyArray<TrackerItem>, BodyRefusal> =>
  Result.flatMap(parseBody(body), (value) => {
    const messages = isMembers(value) ? value.batch : undefined
    const refuse = (code: string, detail: string) =>
      Result.fail(invalidRequest([{ pointer: "/batch", code, detail }]))
    if (!Array.isArray(messages)) return refuse("invalid_type", "must be a list of messages")
    if (messages.length > limits.batchItemsMax) {
      return refuse("too_long", `must have at most ${limits.batchItemsMax} messages`)
    }
    return Result.succeed(
      messages.map((message, index) =>
        readMessage(tracker, message, `/batch/${index}`, now, source),
      ),
    )
  })

/** Reads the message at the pointer `root`. */
export const readMessage = (
  tracker: Tracker,
  message: unknown,
  root: string,
  now: number,
  source: TrackerSource = noRules,
): TrackerItem => {
  if (!isMembers(message)) return noMessage(root)
  const reading: Reading = { message, root, now, source, rules: source.tracker ?? noTrackerRules }
  return tracker === "segment" ? segmentItem(reading) : posthogItem(reading)
}

/** The rules for a tracker's messages without a source. */
export const noTrackerRules: TrackerRules = { unmapped: "event", aliases: "merged", traits: null }
const noRules: TrackerSource = { mappings: [] }

interface Reading {
  readonly message: Members
  /** The pointer of the message. */
  readonly root: string
  readonly now: number
  readonly source: TrackerSource
  readonly rules: TrackerRules
}

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const refused = (faults: ReadonlyArray<Fault>) =>
  ({ kind: "refused", refusal: invalidRequest(faults) }) as const

const noMessage = (root: string): TrackerItem =>
  refused([{ pointer: root, code: "invalid_type", detail: "must be an object" }])

/* Segment. */

const segmentItem = (reading: Reading): TrackerItem => {
  const { message, root, rules } = reading
  const { event, messageId, properties, timestamp, traits, type } = message
  // Before a sign-in a message has the id of the visitor alone.
  const [userId, at] =
    message.userId === undefined || message.userId === null
      ? [message.anonymousId, "anonymousId"]
      : [message.userId, "userId"]
  switch (type) {
    case "identify":
      return profileItem(rules.traits, userId, traits, `${root}/${at}`, `${root}/traits`)
    case "alias":
      return mergeItem(rules, message.previousId, userId, `${root}/previousId`, `${root}/${at}`)
  }
  // Page views have their type as the kind of event.
  const isEvent = type === "track"
  const sent = { userId, name: isEvent ? event : type, metadata: properties, timestamp }
  const names = { userId: at, action: "event", id: "messageId" }
  return namedItem(reading, { ...sent, id: messageId }, names, isEvent)
}

/* PostHog. */

const posthogItem = (reading: Reading): TrackerItem => {
  const { message, root, rules } = reading
  const { distinct_id: userId, event, properties, timestamp, uuid } = message
  const more = isMembers(properties) ? properties : {}
  switch (event) {
    case "$identify":
    case "$set": {
      const traits = more.$set ?? message.$set
      return profileItem(rules.traits, userId, traits, `${root}/distinct_id`, `${root}/$set`)
    }
    case "$create_alias": {
      const [from, into] = [`${root}/properties/alias`, `${root}/distinct_id`]
      return mergeItem(rules, more.alias, userId, from, into)
    }
  }
  // Names with a dollar sign are PostHog's own, such as those of page views.
  const isEvent = !(typeof event === "string" && event.startsWith("$"))
  const own = Object.entries(more).filter(([name]) => !name.startsWith("$"))
  const sent = { userId, name: event, metadata: Object.fromEntries(own), id: uuid, timestamp }
  return namedItem(reading, sent, { userId: "distinct_id", action: "event", id: "uuid" }, isEvent)
}

/* What messages become. */

interface Sent {
  readonly userId: unknown
  readonly name: unknown
  readonly metadata: unknown
  readonly id: unknown
  readonly timestamp: unknown
}

/** The members of the message that have those of the event. */
type Names = Readonly<Record<string, string>>

/** The event of a message with a name. `isEvent`: it is one without a mapping, too. */
const namedItem = (reading: Reading, sent: Sent, names: Names, isEvent: boolean): TrackerItem => {
  const { message, now, root, rules, source } = reading
  const name = typeof sent.name === "string" ? sent.name : undefined
  const mapping = mappingsFor(source, name).find(
    ({ mapping: { event }, where }) =>
      (event !== null || isEvent) &&
      where.every(({ path, test }) => test(valueAtPath(message, path))),
  )
  if (mapping !== undefined) return mappedItem(reading, mapping, sent, names)
  if (!isEvent || rules.unmapped === "ignored") return { kind: "ignored" }
  const action = name === undefined ? sent.name : actionOf(name)
  return eventItem({ ...sent, action }, names, root, now)
}

/** The event that a mapping makes of a message. */
const mappedItem = (
  { message, now, root }: Reading,
  { id, mapping, metadata, occurredAt, place, userId }: CompiledMapping,
  sent: Sent,
  names: Names,
): TrackerItem => {
  const refusedAt = (fault: Fault) => ({
    ...refused([{ ...fault, pointer: root }]),
    mapping: place,
  })
  const ownUser = userId && idText(valueAtPath(message, userId))
  if (userId !== undefined && ownUser === undefined) return refusedAt(noUser)
  const ownId = id && idText(valueAtPath(message, id))
  if (id !== undefined && ownId === undefined) return refusedAt(noId)
  const time = timeAt(message, occurredAt)
  if (time === "malformed") return refusedAt(noTime)
  const found = foundMembers(metadata, message)
  const given = {
    userId: ownUser ?? sent.userId,
    action: mapping.action,
    metadata: metadata.length === 0 ? sent.metadata : Object.fromEntries(found),
    id: ownId ?? sent.id,
    timestamp: time === undefined ? sent.timestamp : isoTime(time),
  }
  return { ...eventItem(given, names, root, now), mapping: place }
}

const eventItem = (
  { action, id, metadata, timestamp, userId }: Omit<Sent, "name"> & { readonly action: unknown },
  names: Names,
  root: string,
  now: number,
): Extract<TrackerItem, { readonly kind: "event" | "refused" }> => {
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

const mergeItem = (
  { aliases }: TrackerRules,
  from: unknown,
  into: unknown,
  fromAt: string,
  intoAt: string,
): TrackerItem => {
  if (aliases === "ignored") return { kind: "ignored" }
  const faults = [...userFaults(from, fromAt), ...userFaults(into, intoAt)]
  if (faults.length > 0) return refused(faults)
  return { kind: "merge", userId: from as string, into: into as string }
}

/** Traits that name a person, or where to reach one. They stay with the tracker. */
const personal = new Set([
  ...["address", "birthday", "description", "email", "firstName", "gender", "id", "lastName"],
  ...["name", "phone", "username", "website", "avatar", "createdAt", "age"],
])

/** The traits that become the profile without a rule. */
const plainTraits = (given: Members): TraitChange => {
  const attributes = Object.entries(given).filter(
    ([name]) => !personal.has(name) && !name.startsWith("$"),
  )
  if (typeof given.avatar === "string") attributes.push([avatarAttribute, given.avatar])
  return {
    ...(typeof given.name === "string" && { displayName: given.name }),
    attributes: scalars(attributes),
  }
}

const ruledTraits = (given: Members, { attributes, displayName }: TraitRules): TraitChange => {
  const name = displayName === null ? undefined : valueAt(given, displayName)
  const pointers = Object.entries(attributes).map(
    ([name, pointer]) => [name, pointerPath(pointer)] as const,
  )
  return {
    ...(typeof name === "string" && { displayName: name }),
    attributes: scalars(foundMembers(pointers, given)),
  }
}

/** The texts, numbers and booleans among members. */
const scalars = (
  members: ReadonlyArray<readonly [name: string, value: unknown]>,
): TraitChange["attributes"] =>
  Object.fromEntries(
    members.filter(([, value]) => /^(string|number|boolean)$/.test(typeof value)),
  ) as TraitChange["attributes"]

const profileItem = (
  rules: TraitRules | null,
  userId: unknown,
  traits: unknown,
  userAt: string,
  traitsAt: string,
): TrackerItem => {
  const given = isMembers(traits) ? traits : {}
  const change = rules === null ? plainTraits(given) : ruledTraits(given, rules)
  const isNothing =
    rules !== null &&
    change.displayName === undefined &&
    Object.keys(change.attributes).length === 0
  if (isNothing) return { kind: "ignored" }
  const decoded = decodeProfile(change, traitsAt, limits.faultsMax)
  const faults = [
    ...userFaults(userId, userAt),
    ...(Result.isFailure(decoded) ? decoded.failure : []),
  ]
  if (faults.length > 0) return refused(faults)
  return { kind: "profile", userId: userId as string, change }
}
