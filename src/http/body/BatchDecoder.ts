/** Decodes the body of a batch into its events. Each step is short, whatever the body. */

import { isUtf8 } from "node:buffer"
import { Result, Schema } from "effect"
import { invalidRequest } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { type BodyRefusal, brokenAt, endsEarly, notUtf8, parseJson } from "./Body.ts"
import {
  type BatchInput,
  type BatchStep,
  decodeMember,
  strictInput,
  tooLargeEvent,
} from "./EventDecoder.ts"
import { inputDecoder } from "./InputDecoder.ts"

/*
 * Reads a batch that is a JSON object with `events`. It reads some events at a time, so that a
 * large batch does not block the event loop, and so that the size of one event is bounded before it
 * is parsed.
 *
 * One pass over the bytes finds the start and end of each event; it looks only at brackets, commas
 * and strings. Consecutive events are parsed together, as one array. The text around the lists of
 * events is parsed at the end, with `[n]` in place of the n-th list. Both parses succeed exactly if
 * the whole body is valid JSON, except for parts above their bound: such an event, or such a text
 * around the lists, is refused without parsing.
 */

type Step = ReturnType<BatchStep>
type Events = Array<BatchInput["events"][number]>

/**
 * `eventBytesMax` is the most that one event may take, and the most that one step scans.
 * `decodeStepBytes` is how much a step parses.
 */
type BatchBounds = Record<"eventBytesMax" | "decodeStepBytes", number>

/**
 * Reads the events of `body`, which is UTF-8. Each step parses about `decodeStepBytes` and one more
 * event.
 */
export const batchEnvelope = (body: Buffer, bounds: BatchBounds = limits): BatchStep => {
  const reader = new Reader(body, bounds)
  return () => reader.step()
}

const root = "/events"

class Reader {
  readonly #body: Buffer
  readonly #bounds: BatchBounds
  /** The bytes before it have been scanned. */
  #at = 0
  /** The last string of the outermost object was `events`, and so is the name of the next value. */
  #named = false
  /** The open brackets of the text around the lists, or of the event. */
  #depth = 0
  /**
   * The text around the lists of events up to `#from`, and the positions of its pieces in the body.
   */
  #around = ""
  #aroundBytes = 0
  #from = 0
  readonly #pieces: Array<{ readonly at: number; readonly from: number }> = []
  /** The lists that were read. The last one counts. */
  readonly #lists: Array<Events> = []
  #list: ListReader | undefined = undefined

  constructor(body: Buffer, bounds: BatchBounds) {
    this.#body = body
    this.#bounds = bounds
  }

  step(): Step {
    if (this.#list === undefined) return this.#readAround()
    const ended = this.#list.step()
    if (ended === undefined) return undefined
    if (Result.isFailure(ended)) return Result.fail(ended.failure)
    this.#at = ended.success
    this.#from = ended.success
    this.#list = undefined
    return undefined
  }

  /** Scans to the next list of events, or to the end. */
  #readAround(): Step {
    const body = this.#body
    const limit = Math.min(body.length, this.#at + this.#bounds.eventBytesMax)
    for (let at = this.#at; at < limit; at++) {
      switch (body[at]) {
        case quote: {
          const end = endOfString(body, at, limit)
          if (end === undefined) {
            // The string does not end, or the text is too long.
            this.#at = limit
            return limit < body.length ? this.#tooMuch() : this.#finish()
          }
          if (this.#depth === 1) this.#named = isEvents(body, at, end)
          at = end - 1
          break
        }
        case openBracket:
          if (this.#depth === 1 && this.#named) {
            if (!this.#keep(at)) return this.#tooMuch()
            this.#around += `[${this.#lists.length}]`
            const events: Events = []
            this.#lists.push(events)
            this.#list = new ListReader(body, at + 1, events, this.#bounds)
            return undefined
          }
          this.#depth++
          break
        case openBrace:
          this.#depth++
          break
        case closeBracket:
        case closeBrace:
          this.#depth--
          break
        case space:
        case newline:
        case carriageReturn:
        case tab: {
          // One character of white space is enough.
          if (!isSpace(body[at + 1])) break
          if (!this.#keep(at)) return this.#tooMuch()
          while (at + 1 < limit && isSpace(body[at + 1])) at++
          this.#from = at
        }
      }
    }
    this.#at = limit
    if (limit - this.#from > this.#bounds.eventBytesMax) return this.#tooMuch()
    return limit === body.length ? this.#finish() : undefined
  }

  /** Keeps the text around the lists up to `end`. `false`: it is too long. */
  #keep(end: number): boolean {
    this.#aroundBytes += end - this.#from
    if (this.#aroundBytes > this.#bounds.eventBytesMax) return false
    this.#pieces.push({ at: this.#around.length, from: this.#from })
    this.#around += this.#body.toString("utf8", this.#from, end)
    return true
  }

  #tooMuch(): Step {
    // Of white space at the start, one character is left.
    const start = this.#around + this.#body.toString("latin1", this.#from, this.#from + 2)
    const object = /^[ \n\r\t]?{/.test(start)
    return Result.fail(invalidRequest([{ pointer: "", ...(object ? largeAround : noObject) }]))
  }

  /** Parses the text around the lists. */
  #finish(): Step {
    if (!this.#keep(this.#body.length)) return this.#tooMuch()
    const value = parseJson(this.#around, (position) => this.#place(position))
    if (Result.isFailure(value)) return Result.fail(value.failure)
    const envelope = decodeEnvelope(value.success, "", limits.faultsMax)
    if (Result.isFailure(envelope)) return Result.fail(invalidRequest(envelope.failure))
    const events = this.#lists[envelope.success.events[0]]!
    return events.length === 0 ? tooFew : Result.succeed({ root, events })
  }

  /** The index in the body of the character at `position` of the text around the lists. */
  #place(position: number): number {
    const piece = this.#pieces.findLast(({ at }) => at <= position)!
    return charactersBefore(this.#body, piece.from) + position - piece.at
  }
}

/** Reads one list of events. */
class ListReader {
  readonly #body: Buffer
  readonly #events: Events
  readonly #bounds: BatchBounds
  /** The bytes before it have been scanned. */
  #at: number
  /**
   * The start of the current event; the start of the events before it that are not parsed yet, and
   * their number.
   */
  #start: number
  #from: number
  #count = 0
  #depth = 0
  #inString = false

  /** Reads the list whose opening bracket stands before `at`. */
  constructor(body: Buffer, at: number, events: Events, bounds: BatchBounds) {
    this.#body = body
    this.#bounds = bounds
    this.#events = events
    this.#at = at
    this.#start = at
    this.#from = at
  }

  /** Reads some events. Returns the index after the list when the list ends. */
  step(): Result.Result<number, BodyRefusal> | undefined {
    const body = this.#body
    const limit = Math.min(body.length, this.#at + this.#bounds.eventBytesMax)
    while (this.#scan(limit)) {
      const end = this.#at++
      const last = body[end] === closeBracket
      if (!last && body[end] !== comma) return Result.fail(this.#brokenAt(end))
      const read = this.#events.length + this.#count
      if (last && read === 0 && isBlank(body, this.#start, end)) {
        return Result.succeed(end + 1)
      }
      if (read === limits.batchEventsMax) return tooMany
      const large = isTooLarge(body, this.#start, end, this.#bounds.eventBytesMax)
      if (!large) this.#count++
      const full = end - this.#from >= this.#bounds.decodeStepBytes
      if (large || last || full) {
        const fault = this.#parse(large ? this.#start - 1 : end)
        if (fault !== undefined) return Result.fail(fault)
        if (large) this.#events.push(tooLargeEvent(`${root}/${this.#events.length}`))
        this.#from = end + 1
      }
      this.#start = end + 1
      if (last) return Result.succeed(end + 1)
      if (large || full) return undefined
    }
    return limit === body.length ? Result.fail(endsEarly) : undefined
  }

  /** Scans to the comma or bracket that ends the event. `false`: `limit` comes first. */
  #scan(limit: number): boolean {
    const body = this.#body
    let at = this.#at
    let depth = this.#depth
    let inString = this.#inString
    let found = false
    while (at < limit) {
      if (inString) {
        let code = body[at]
        while (code !== quote && code !== backslash && ++at < limit) code = body[at]
        if (at === limit) break
        inString = code === backslash
        at += inString ? 2 : 1
        continue
      }
      const code = body[at]!
      // In UTF-8, square brackets and braces differ in this bit only.
      const bracket = code | 0x20
      if (code === quote) inString = true
      else if (bracket === openBrace) depth++
      else if (bracket === closeBrace) {
        found = depth === 0
        if (found) break
        depth--
      } else if (code === comma && depth === 0) {
        found = true
        break
      }
      at++
    }
    this.#at = at
    this.#depth = depth
    this.#inString = inString
    return found
  }

  /** Parses the events before `end` that are not parsed yet, and adds them to the list. */
  #parse(end: number): BodyRefusal | undefined {
    const count = this.#count
    if (count === 0) return undefined
    this.#count = 0
    const place = (position: number) => charactersBefore(this.#body, this.#from) + position - 1
    const parsed = parseJson(`[${this.#body.toString("utf8", this.#from, end)}]`, place)
    if (Result.isFailure(parsed)) return parsed.failure
    const values = parsed.success as ReadonlyArray<unknown>
    if (values.length !== count) return this.#brokenAt(end)
    for (const value of values) this.#events.push(decodeMember(value, root, this.#events.length))
    return undefined
  }

  #brokenAt(at: number): BodyRefusal {
    return brokenAt(charactersBefore(this.#body, at))
  }
}

const Envelope = Schema.Struct({ events: Schema.Tuple([Schema.Int]) })
const decodeEnvelope = inputDecoder<typeof Envelope.Type>(Envelope, strictInput)

const charactersBefore = (body: Buffer, at: number): number => body.toString("utf8", 0, at).length

/** The index after the string that begins at `start`; `undefined` if it is beyond `limit`. */
const endOfString = (body: Buffer, start: number, limit: number): number | undefined => {
  for (let at = start + 1; at < limit; at++) {
    if (body[at] === quote) return at + 1
    if (body[at] === backslash) at++
  }
  return undefined
}

/** Whether the string between two indexes is `events`, with or without escapes. */
const isEvents = (body: Buffer, start: number, end: number): boolean => {
  if (end - start > longestName) return false
  const json = body.toString("utf8", start, end)
  if (!json.includes("\\")) return json === '"events"'
  const name = parseJson(json)
  return Result.isSuccess(name) && name.success === "events"
}

const longestName = '"events"'.length * "\\u0000".length

/**
 * Whether the event between two indexes has more than `bytesMax` bytes, without white space around
 * it.
 */
const isTooLarge = (body: Buffer, start: number, end: number, bytesMax: number): boolean => {
  if (end - start <= bytesMax) return false
  let from = start
  let to = end
  while (from < to && isSpace(body[from])) from++
  while (from < to && isSpace(body[to - 1])) to--
  return to - from > bytesMax
}

const isBlank = (body: Buffer, start: number, end: number): boolean => {
  let at = start
  while (at < end && isSpace(body[at])) at++
  return at === end
}

const wrongCount = (code: string, detail: string): Result.Result<never, BodyRefusal> =>
  Result.fail(invalidRequest([{ pointer: root, code, detail }]))
const tooFew = wrongCount("too_short", "must have at least 1")
const tooMany = wrongCount("too_long", `must have at most ${limits.batchEventsMax}`)

const noObject = { code: "invalid_type", detail: "must be an object" }
const largeAround = {
  code: "too_large",
  detail: `must take at most ${limits.eventBytesMax} bytes beside its events`,
}

const isSpace = (code: number | undefined): boolean =>
  code === space || code === newline || code === carriageReturn || code === tab

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const space = 0x20
const newline = 0x0a
const carriageReturn = 0x0d
const tab = 0x09

/* Reads a batch that is NDJSON: one JSON event per line. Blank lines are skipped. */

/**
 * Reads the lines of `body`. Each step parses `decodeStepBytes` and one more line. A line that is
 * not UTF-8 is refused without the others.
 */
const batchLines = (body: Buffer): BatchStep => {
  const isText = isUtf8(body)
  // In Latin-1, each character is a byte. In UTF-8 and in other bytes, the byte of a newline is
  // never a part of another character.
  const text = body.toString(isText ? "utf8" : "latin1")
  const events: Array<BatchInput["events"][number]> = []
  let at = 0
  return () => {
    const until = at + limits.decodeStepBytes
    while (at < until) {
      // Skips white space before a line's JSON, and blank lines.
      while (at < until && isBlankLine(text.charCodeAt(at))) at++
      if (at >= text.length) return done(events)
      if (at === until) return undefined
      if (events.length === limits.batchEventsMax) return tooManyLines
      const newline = text.indexOf("\n", at)
      const end = newline === -1 ? text.length : newline
      events.push(
        isText
          ? eventOf(text.slice(at, end), events.length)
          : eventOfBytes(body.subarray(at, end), events.length),
      )
      at = end
    }
    return undefined
  }
}

const done = (events: BatchInput["events"]): Result.Result<BatchInput, BodyRefusal> =>
  events.length === 0 ? tooFewLines : Result.succeed({ root: "", events })

const eventOf = (line: string, index: number): BatchInput["events"][number] => {
  // A character takes at most three bytes.
  const large = 3 * line.length > limits.eventBytesMax
  if (large && Buffer.byteLength(line) > limits.eventBytesMax) return tooLargeEvent(`/${index}`)
  const value = parseJson(line)
  return Result.isFailure(value) ? value.failure : decodeMember(value.success, "", index)
}

const eventOfBytes = (line: Buffer, index: number): BatchInput["events"][number] => {
  if (line.length > limits.eventBytesMax) return tooLargeEvent(`/${index}`)
  return isUtf8(line) ? eventOf(line.toString("utf8"), index) : notUtf8("line")
}

/** Whether `code` is white space of JSON. */
const isBlankLine = (code: number): boolean =>
  code === 0x0a || code === 0x0d || code === 0x20 || code === 0x09

const wrongLineCount = (code: string, detail: string) =>
  Result.fail(invalidRequest([{ pointer: "", code, detail }]))
const tooFewLines = wrongLineCount("too_short", "must have at least 1 line")
const tooManyLines = wrongLineCount("too_long", `must have at most ${limits.batchEventsMax} lines`)

/** The steps that decode a body: a JSON object with `events`, or one JSON event per line. */
export const batchSteps = (body: Buffer, mediaType: string): BatchStep => {
  if (mediaType === "application/x-ndjson") return batchLines(body)
  return isUtf8(body) ? batchEnvelope(body) : () => Result.fail(notUtf8("body"))
}
