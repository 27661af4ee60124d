/**
 * Decodes JSON into events. A structural check accepts events that the schema surely accepts, in a
 * fraction of the schema's time. All other values go through the schema, which alone finds and
 * describes faults. The check may reject a valid event, but must never accept one that the schema
 * refuses (a property test compares them).
 *
 * Metadata stays as it was parsed: a copy would cost time and mishandle `__proto__`.
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
import { eventLoop, type Turns } from "../Turns.ts"
import { type BodyRefusal, parseBody } from "./Body.ts"
import { inputDecoder } from "./InputDecoder.ts"

/** An event as it was sent. `occurredAt` is epoch milliseconds. */
export interface EventInput {
  readonly userId: string
  readonly action: string
  readonly metadata?: Metadata
  readonly id?: string
  readonly occurredAt?: number
}

type EventJson = typeof Event.Type

const plainId = /^(?!\.{1,2}$)[\x20-\x7e]{1,128}$/

/** Whether `value` is surely a valid event. */
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
/** Metadata is checked separately: the schema of a record would visit each member. */
const Head = Schema.Struct({ ...Event.fields, metadata: Schema.optionalKey(Schema.Unknown) })
const decodeHead = inputDecoder<unknown>(Head, strictInput)

/**
 * The event in `value`, a result of `JSON.parse`, or its faults. Their pointers begin with `root`.
 */
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

/* Batches of events, rewards or openings. */

/** What the items of a batch are. */
export interface ItemKind<Item> {
  /** The word for one of them. Its plural names the list in the body. */
  readonly noun: "event" | "reward" | "opening"
  /** The pointers of faults begin with `root`. */
  readonly decode: (
    value: unknown,
    root: string,
    faultsMax: number,
  ) => Result.Result<Item, ReadonlyArray<Fault>>
}

export const eventItems: ItemKind<EventInput> = { noun: "event", decode: decodeEvent }

/** The items of a batch in order. A faulty item is replaced by its refusal. */
export interface BatchInput<Item> {
  /** The pointer of the list of items, for pointers of faults. */
  readonly root: string
  readonly items: ReadonlyArray<Item | BodyRefusal>
}

/**
 * Decodes some items of a batch. Returns the result when all are decoded, and is then not called
 * again.
 */
export type BatchStep<Item> = () => Result.Result<BatchInput<Item>, BodyRefusal> | undefined

export const isRefusal = <Item extends object>(item: Item): item is Extract<Item, LaurelError> =>
  "_tag" in item

/** The refusal of an item of a batch above `eventBytesMax`. The item is not parsed. */
export const tooLargeItem = (kind: ItemKind<unknown>, pointer: string): BodyRefusal =>
  refusedItem(kind, [{ pointer, code: "too_large", detail: largeItem }])

const largeItem = `must take at most ${limits.eventBytesMax} bytes as it is sent`

/** The item of a batch in `value`, or its refusal. */
export const decodeItem = <Item>(
  kind: ItemKind<Item>,
  value: unknown,
  root: string,
  index: number,
): Item | BodyRefusal => {
  const item = kind.decode(value, `${root}/${index}`, limits.batchEventFaultsMax)
  return Result.isSuccess(item) ? item.success : refusedItem(kind, item.failure)
}

const refusedItem = ({ noun }: ItemKind<unknown>, faults: ReadonlyArray<Fault>): BodyRefusal =>
  laurelError("invalid_request", `The ${noun} is invalid.`, { errors: faults })

/*
 * Decodes large bodies in parts, one per turn of the event loop. All bodies together have
 * `decodeTurnMs` of a turn. Waiting environments take steps in rotation, and so do the bodies of
 * each environment: a small body waits neither for a whole large one, nor for the many bodies of
 * another environment.
 *
 * Cost of a body that is decoded at once: two reads of the clock, and one `setImmediate` per turn.
 */

/** Decodes a part of a body; returns whether it was the last part. Never throws. */
type Step = () => boolean

export class DecodingTurns {
  readonly #budgetMs: number
  readonly #turns: Turns
  /** The waiting bodies by environment, in the order of rotation. No list is empty. */
  readonly #waiting = new Map<string, Array<Step>>()
  /** The milliseconds spent in this turn. */
  #spentMs = 0
  #inTurn = false

  constructor(budgetMs: number = limits.decodeTurnMs, turns: Turns = eventLoop) {
    this.#budgetMs = budgetMs
    this.#turns = turns
  }

  /** The number of bodies that wait for their next step. */
  get size(): number {
    let size = 0
    for (const bodies of this.#waiting.values()) size += bodies.length
    return size
  }

  /** Takes steps until one has a result: at once if the turn has time, otherwise in later turns. */
  run<A>(environment: string, step: () => A | undefined): A | Promise<A> {
    if (this.#waiting.size === 0) {
      const startedAt = this.#turns.now()
      const until = startedAt + this.#budgetMs - this.#spentMs
      let now = startedAt
      while (now < until) {
        const result = step()
        now = this.#turns.now()
        if (result === undefined) continue
        this.#spend(now - startedAt)
        return result
      }
      this.#spend(now - startedAt)
    }
    return new Promise((resolve, reject) => {
      const once = (): boolean => {
        try {
          const result = step()
          if (result === undefined) return false
          resolve(result)
        } catch (defect) {
          reject(defect)
        }
        return true
      }
      const bodies = this.#waiting.get(environment)
      if (bodies === undefined) this.#waiting.set(environment, [once])
      else bodies.push(once)
    })
  }

  #spend(ms: number): void {
    this.#spentMs += ms
    if (this.#inTurn) return
    this.#inTurn = true
    this.#turns.atEnd(this.#yieldToEventLoop)
  }

  readonly #yieldToEventLoop = (): void => {
    this.#inTurn = false
    this.#spentMs = 0
    if (this.#waiting.size === 0) return
    const startedAt = this.#turns.now()
    let now = startedAt
    // An environment that moves to the end of the rotation comes up again in this loop.
    for (const [environment, bodies] of this.#waiting) {
      this.#waiting.delete(environment)
      const step = bodies.shift()!
      if (!step()) bodies.push(step)
      if (bodies.length > 0) this.#waiting.set(environment, bodies)
      now = this.#turns.now()
      if (now - startedAt >= this.#budgetMs) break
    }
    this.#spend(now - startedAt)
  }
}
