/**
 * From JSON to events. A structural check passes what the Schema surely accepts, in a fraction of its time;
 * whatever it doubts goes through the Schema, which alone finds and words faults. The check may doubt what
 * is right, but must never pass what the Schema refuses (a property test compares them).
 *
 * Metadata is handed on as it was parsed: rebuilding it would cost time and trip over `__proto__`.
 */

import { Result, Schema } from "effect"
import {
  type Fault,
  invalidRequest,
  type LaurelError,
  laurelError,
} from "../../domain/values/Errors.ts"
import { actionPattern } from "../../domain/values/Ids.ts"
import { parseIsoTime } from "../../domain/values/isoTime.ts"
import { type Metadata, metadataFault } from "../../domain/values/Metadata.ts"
import { limits } from "../../Limits.ts"
import { Event } from "../api/Events.ts"
import { type BodyRefusal, parseBody } from "./Body.ts"
import { inputDecoder } from "./InputDecoder.ts"

/** An event as it was sent; `occurredAt` is epoch milliseconds. */
export interface EventInput {
  readonly userId: string
  readonly action: string
  readonly metadata?: Metadata
  readonly id?: string
  readonly occurredAt?: number
}

type EventJson = typeof Event.Type

const plainId = /^(?!\.{1,2}$)[\x20-\x7e]{1,128}$/

/** Whether `value` is an event without a doubt. */
export const isPlainEvent = (value: unknown): value is EventJson => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false
  let required = 0
  for (const key in value) {
    const member = (value as Record<string, unknown>)[key]
    switch (key) {
      case "userId":
        if (typeof member !== "string" || !plainId.test(member)) return false
        required++
        break
      case "action":
        if (typeof member !== "string" || !actionPattern.test(member)) return false
        required++
        break
      case "metadata":
        if (typeof member !== "object" || member === null || Array.isArray(member)) return false
        if (metadataFault(member) !== undefined) return false
        break
      case "id":
        if (typeof member !== "string" || !plainId.test(member)) return false
        break
      case "occurredAt":
        if (typeof member !== "string" || parseIsoTime(member) === undefined) return false
        break
      default:
        return false
    }
  }
  return required === 2
}

export const strictInput = { errors: "all", onExcessProperty: "error" } as const
/** Metadata is looked at by itself: the Schema of a record would visit each of its members. */
const Head = Schema.Struct({ ...Event.fields, metadata: Schema.optionalKey(Schema.Unknown) })
const decodeHead = inputDecoder<unknown>(Head, strictInput)

/** The event that `value`, made by `JSON.parse`, is, or its faults; their pointers begin with `root`. */
export const decodeEvent = (
  value: unknown,
  root: string,
  faultsMax: number,
): Result.Result<EventInput, ReadonlyArray<Fault>> => {
  if (!isPlainEvent(value)) {
    const faults = eventFaults(value, root, faultsMax)
    if (faults.length > 0) return Result.fail(faults)
  }
  const event = value as EventJson
  return Result.succeed(
    event.occurredAt === undefined
      ? (event as Omit<EventJson, "occurredAt">)
      : { ...event, occurredAt: parseIsoTime(event.occurredAt)! },
  )
}

const eventFaults = (value: unknown, root: string, most: number): ReadonlyArray<Fault> => {
  const head = decodeHead(value, root, most)
  const faults = Result.isFailure(head) ? head.failure : []
  if (faults.length >= most || !isObject(value) || !Object.hasOwn(value, "metadata")) return faults
  const { metadata } = value as { readonly metadata: unknown }
  const fault = isObject(metadata) ? metadataFault(metadata) : noObject
  return fault === undefined ? faults : [...faults, { pointer: `${root}/metadata`, ...fault }]
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const noObject = { code: "invalid_type", detail: "must be an object" } as const

/** The one event of a body. */
export const decodeEventBody = (body: Buffer): Result.Result<EventInput, BodyRefusal> => {
  const value = parseBody(body)
  if (Result.isFailure(value)) return Result.fail(value.failure)
  return Result.mapError(decodeEvent(value.success, "", limits.faultsMax), invalidRequest)
}

/** The events of a batch in their order, each with what is wrong with it, if anything. */
export interface BatchInput {
  /** Before the index of an event in the pointers of its faults. */
  readonly root: string
  readonly events: ReadonlyArray<EventInput | BodyRefusal>
}

/** Decodes some events of a batch; the result once all are decoded, and then no more steps. */
export type BatchStep = () => Result.Result<BatchInput, BodyRefusal> | undefined

export const isRefusal = <Event extends object>(
  event: Event,
): event is Extract<Event, LaurelError> => "_tag" in event

/** The refusal of an event in a batch above `eventBytesMax`; it is not parsed. */
export const tooLargeEvent = (pointer: string): BodyRefusal =>
  refusedEvent([{ pointer, code: "too_large", detail: largeEvent }])

const largeEvent = `must take at most ${limits.eventBytesMax} bytes as it is sent`

/** The event of a batch that `value` is, or what is wrong with it. */
export const decodeMember = (
  value: unknown,
  root: string,
  index: number,
): EventInput | BodyRefusal => {
  const event = decodeEvent(value, `${root}/${index}`, limits.batchEventFaultsMax)
  return Result.isSuccess(event) ? event.success : refusedEvent(event.failure)
}

const refusedEvent = (faults: ReadonlyArray<Fault>): BodyRefusal =>
  laurelError("invalid_request", "The event is invalid.", { errors: faults })
