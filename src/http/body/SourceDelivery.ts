/**
 * Reads a delivery of a source as events: one for each mapping that matches. Pure, and as strict as
 * an event of a client: what a mapping finds in the body goes through the same checks.
 */
import { Result } from "effect"
import {
  type CompiledMapping,
  mappingsFor,
  type SignedKind,
  type SignedSource,
} from "../../domain/project/Source.ts"
import type { Fault } from "../../domain/values/Errors.ts"
import { isoTime, parseIsoTime } from "../../domain/values/isoTime.ts"
import { type PointerPath, valueAtPath } from "../../domain/values/jsonPointer.ts"
import { limits } from "../../Limits.ts"
import { decodeEvent, type EventInput } from "./EventDecoder.ts"
import type { DeliveryHeaders } from "./SourceSignature.ts"

/** The id of a delivery, and the kind of its event. */
export interface DeliveryHead {
  readonly id: string | undefined
  readonly event: string | undefined
}

/** What a mapping makes of a delivery. Pointers of faults lead into the mapping. */
export interface MappedEvent {
  /** The place of the mapping. */
  readonly mapping: number
  readonly event: Result.Result<EventInput, ReadonlyArray<Fault>>
}

interface Service {
  readonly head: (headers: DeliveryHeaders, body: unknown) => DeliveryHead
  /** Where the body has the time of the event. */
  readonly occurredAt?: PointerPath
}

const textAt = (body: unknown, name: string): string | undefined => {
  const value = valueAtPath(body, [name])
  return typeof value === "string" ? value : undefined
}

const services: Readonly<Record<SignedKind, Service>> = {
  stripe: {
    head: (_, body) => ({ id: textAt(body, "id"), event: textAt(body, "type") }),
    occurredAt: ["created"],
  },
  github: {
    head: (headers) => ({ id: headers["x-github-delivery"], event: headers["x-github-event"] }),
  },
  json: {
    head: (headers, body) => ({ id: headers["webhook-id"], event: textAt(body, "type") }),
    occurredAt: ["timestamp"],
  },
}

export const headOf = (kind: SignedKind, headers: DeliveryHeaders, body: unknown): DeliveryHead =>
  services[kind].head(headers, body)

/** `now`: the environment's time. */
export const readDelivery = (
  source: SignedSource,
  head: DeliveryHead,
  body: unknown,
  now: number,
): ReadonlyArray<MappedEvent> =>
  mappingsFor(source, head.event).flatMap((compiled) => {
    const matches = compiled.where.every(({ path, test }) => test(valueAtPath(body, path)))
    if (!matches) return []
    const event = eventOf(compiled, services[source.kind], head, body, now)
    return [{ mapping: compiled.place, event }]
  })

const eventOf = (
  compiled: CompiledMapping,
  service: Service,
  head: DeliveryHead,
  body: unknown,
  now: number,
): MappedEvent["event"] => {
  const { action } = compiled.mapping
  const own = compiled.id === undefined ? undefined : idText(valueAtPath(body, compiled.id))
  const id = compiled.id === undefined ? head.id && `${head.id}:${action}` : own
  if (id === undefined) return Result.fail([compiled.id === undefined ? noDeliveryId : noId])
  const time = timeAt(body, compiled.occurredAt) ?? timeAt(body, service.occurredAt)
  if (time === "malformed") return Result.fail([noTime])
  const found = foundMembers(compiled.metadata, body)
  const event = {
    userId: compiled.userId && idText(valueAtPath(body, compiled.userId)),
    action,
    id,
    ...(time !== undefined && time < now && { occurredAt: isoTime(time) }),
    ...(found.length > 0 && { metadata: Object.fromEntries(found) }),
  }
  return event.userId === undefined
    ? Result.fail([noUser])
    : decodeEvent(event, "", limits.faultsMax)
}

/** The members whose pointers lead to a value. */
export const foundMembers = (
  members: CompiledMapping["metadata"],
  body: unknown,
): ReadonlyArray<readonly [name: string, value: unknown]> =>
  members.flatMap(([name, path]) => {
    const value = valueAtPath(body, path)
    return value === undefined ? [] : [[name, value] as const]
  })

const leadsNowhere = (pointer: string, what: string): Fault => ({
  pointer,
  code: "missing",
  detail: `leads to nothing that is ${what}: a text or a whole number`,
})

export const noUser = leadsNowhere("/userId", "a user's id")
export const noId = leadsNowhere("/id", "an event's id")
const noDeliveryId: Fault = {
  pointer: "/id",
  code: "missing",
  detail: "is required, since the delivery has no id",
}
export const noTime: Fault = {
  pointer: "/occurredAt",
  code: "invalid_format",
  detail: "leads to no time: ISO 8601 with a zone, or seconds since 1970",
}

/** An id, which services write as a text or as a whole number. */
export const idText = (value: unknown): string | undefined => {
  if (typeof value === "string") return value
  return Number.isSafeInteger(value) ? String(value) : undefined
}

/** Numbers from here on are milliseconds: as seconds they would be after the year 5000. */
const millisecondsFrom = 100_000_000_000

export const timeAt = (
  body: unknown,
  path: PointerPath | undefined,
): number | "malformed" | undefined => {
  const value = path === undefined ? undefined : valueAtPath(body, path)
  if (value === undefined || value === null) return undefined
  if (typeof value === "string") return parseIsoTime(value) ?? "malformed"
  if (typeof value !== "number" || value < 0) return "malformed"
  return Math.floor(value < millisecondsFrom ? value * 1_000 : value)
}
