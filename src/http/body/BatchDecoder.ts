/** Decodes the body of a batch into its items. Each step is short, whatever the body. */

import { isUtf8 } from "node:buffer"
import { Result, Schema } from "effect"
import { invalidRequest } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { type BodyRefusal, brokenAt, endsEarly, notUtf8, parseJson } from "./Body.ts"
import {
  type BatchInput,
  type BatchStep,
  decodeItem,
  type ItemKind,
  strictInput,
  tooLargeItem,
} from "./EventDecoder.ts"
import { inputDecoder } from "./InputDecoder.ts"

/*
 * Reads a batch that is a JSON object with a list of items, such as `events`. It reads some items
 * at a time, so that a large batch does not block the event loop, and so that the size of one item
 * is bounded before it is parsed.
 *
 * One pass over the bytes finds the start and end of each item; it looks only at brackets, commas
 * and strings. Consecutive items are parsed together, as one array. The text around the lists of
 * items is parsed at the end, with `[n]` in place of the n-th list. Both parses succeed exactly if
 * the whole body is valid JSON, except for parts above their bound: such an item, or such a text
 * around the lists, is refused without parsing.
 */

type Step<Item> = ReturnType<BatchStep<Item>>
type Items<Item> = Array<BatchInput<Item>["items"][number]>

/**
 * `eventBytesMax` is the most that one item may take, and the most that one step scans.
 * `decodeStepBytes` is how much a step parses.
 */
type BatchBounds = Record<"eventBytesMax" | "decodeStepBytes", number>

/**
 * Reads the items of `body`, which is UTF-8. Each step parses about `decodeStepBytes` and one more
 * item.
 */
export const batchEnvelope = <Item>(
  kind: ItemKind<Item>,
  body: Buffer,
  bounds: BatchBounds = limits,
): BatchStep<Item> => {
  const reader = new Reader(kind, body, bounds)
  return () => reader.step()
}

const listOf = ({ noun }: ItemKind<unknown>): string => `${noun}s`
const rootOf = (kind: ItemKind<unknown>): string => `/${listOf(kind)}`

class Reader<Item> {
  readonly #kind: ItemKind<Item>
  readonly #body: Buffer
  readonly #bounds: BatchBounds
  /** The bytes before it have been scanned. */
  #at = 0
  /** The last string of the outermost object was the list's name: so is that of the next value. */
  #named = false
  /** The open brackets of the text around the lists, or of the item. */
  #depth = 0
  /**
   * The text around the lists of items up to `#from`, and the positions of its pieces in the body.
   */
  #around = ""
  #aroundBytes = 0
  #from = 0
  readonly #pieces: Array<{ readonly at: number; readonly from: number }> = []
  /** The lists that were read. The last one counts. */
  readonly #lists: Array<Items<Item>> = []
  #list: ListReader<Item> | undefined = undefined

  constructor(kind: ItemKind<Item>, body: Buffer, bounds: BatchBounds) {
    this.#kind = kind
    this.#body = body
    this.#bounds = bounds
  }

  step(): Step<Item> {
    if (this.#list === undefined) return this.#readAround()
    const ended = this.#list.step()
    if (ended === undefined) return undefined
    if (Result.isFailure(ended)) return Result.fail(ended.failure)
    this.#at = ended.success
    this.#from = ended.success
    this.#list = undefined
    return undefined
  }

  /** Scans to the next list of items, or to the end. */
  #readAround(): Step<Item> {
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
          if (this.#depth === 1) this.#named = isList(listOf(this.#kind), body, at, end)
          at = end - 1
          break
        }
        case openBracket:
          if (this.#depth === 1 && this.#named) {
            if (!this.#keep(at)) return this.#tooMuch()
            this.#around += `[${this.#lists.length}]`
            const items: Items<Item> = []
            this.#lists.push(items)
            this.#list = new ListReader(this.#kind, body, at + 1, items, this.#bounds)
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

  #tooMuch(): Step<Item> {
    // Of white space at the start, one character is left.
    const start = this.#around + this.#body.toString("latin1", this.#from, this.#from + 2)
    const object = /^[ \n\r\t]?{/.test(start)
    return Result.fail(
      invalidRequest([{ pointer: "", ...(object ? largeAround(this.#kind) : noObject) }]),
    )
  }

  /** Parses the text around the lists. */
  #finish(): Step<Item> {
    if (!this.#keep(this.#body.length)) return this.#tooMuch()
    const value = parseJson(this.#around, (position) => this.#place(position))
    if (Result.isFailure(value)) return Result.fail(value.failure)
    const list = listOf(this.#kind)
    const envelope = decodeEnvelope[this.#kind.noun](value.success, "", limits.faultsMax)
    if (Result.isFailure(envelope)) return Result.fail(invalidRequest(envelope.failure))
    const items = this.#lists[envelope.success[list]![0]]!
    const root = rootOf(this.#kind)
    return items.length === 0 ? tooFew(root) : Result.succeed({ root, items })
  }

  /** The index in the body of the character at `position` of the text around the lists. */
  #place(position: number): number {
    const piece = this.#pieces.findLast(({ at }) => at <= position)!
    return charactersBefore(this.#body, piece.from) + position - piece.at
  }
}

/** Reads one list of items. */
class ListReader<Item> {
  readonly #kind: ItemKind<Item>
  readonly #root: string
  readonly #body: Buffer
  readonly #items: Items<Item>
  readonly #bounds: BatchBounds
  /** The bytes before it have been scanned. */
  #at: number
  /**
   * The start of the current item; the start of the items before it that are not parsed yet, and
   * their number.
   */
  #start: number
  #from: number
  #count = 0
  #depth = 0
  #inString = false

  /** Reads the list whose opening bracket stands before `at`. */
  constructor(
    kind: ItemKind<Item>,
    body: Buffer,
    at: number,
    items: Items<Item>,
    bounds: BatchBounds,
  ) {
    this.#kind = kind
    this.#root = rootOf(kind)
    this.#body = body
    this.#bounds = bounds
    this.#items = items
    this.#at = at
    this.#start = at
    this.#from = at
  }

  /** Reads some items. Returns the index after the list when the list ends. */
  step(): Result.Result<number, BodyRefusal> | undefined {
    const body = this.#body
    const limit = Math.min(body.length, this.#at + this.#bounds.eventBytesMax)
    while (this.#scan(limit)) {
      const end = this.#at++
      const last = body[end] === closeBracket
      if (!last && body[end] !== comma) return Result.fail(this.#brokenAt(end))
      const read = this.#items.length + this.#count
      if (last && read === 0 && isBlank(body, this.#start, end)) {
        return Result.succeed(end + 1)
      }
      if (read === limits.batchItemsMax) return tooMany(this.#root)
      const large = isTooLarge(body, this.#start, end, this.#bounds.eventBytesMax)
      if (!large) this.#count++
      const full = end - this.#from >= this.#bounds.decodeStepBytes
      if (large || last || full) {
        const fault = this.#parse(large ? this.#start - 1 : end)
        if (fault !== undefined) return Result.fail(fault)
        if (large) {
          this.#items.push(tooLargeItem(this.#kind, `${this.#root}/${this.#items.length}`))
        }
        this.#from = end + 1
      }
      this.#start = end + 1
      if (last) return Result.succeed(end + 1)
      if (large || full) return undefined
    }
    return limit === body.length ? Result.fail(endsEarly) : undefined
  }

  /** Scans to the comma or bracket that ends the item. `false`: `limit` comes first. */
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

  /** Parses the items before `end` that are not parsed yet, and adds them to the list. */
  #parse(end: number): BodyRefusal | undefined {
    const count = this.#count
    if (count === 0) return undefined
    this.#count = 0
    const place = (position: number) => charactersBefore(this.#body, this.#from) + position - 1
    const parsed = parseJson(`[${this.#body.toString("utf8", this.#from, end)}]`, place)
    if (Result.isFailure(parsed)) return parsed.failure
    const values = parsed.success as ReadonlyArray<unknown>
    if (values.length !== count) return this.#brokenAt(end)
    for (const value of values) {
      this.#items.push(decodeItem(this.#kind, value, this.#root, this.#items.length))
    }
    return undefined
  }

  #brokenAt(at: number): BodyRefusal {
    return brokenAt(charactersBefore(this.#body, at))
  }
}

type Envelope = Readonly<Record<string, readonly [number]>>

const envelopeDecoder = (list: string) =>
  inputDecoder<Envelope>(Schema.Struct({ [list]: Schema.Tuple([Schema.Int]) }), strictInput)
const decodeEnvelope = {
  event: envelopeDecoder("events"),
  reward: envelopeDecoder("rewards"),
  opening: envelopeDecoder("openings"),
}

const charactersBefore = (body: Buffer, at: number): number => body.toString("utf8", 0, at).length

/** The index after the string that begins at `start`; `undefined` if it is beyond `limit`. */
const endOfString = (body: Buffer, start: number, limit: number): number | undefined => {
  for (let at = start + 1; at < limit; at++) {
    if (body[at] === quote) return at + 1
    if (body[at] === backslash) at++
  }
  return undefined
}

/** Whether the string between two indexes is the name of the list, with or without escapes. */
const isList = (list: string, body: Buffer, start: number, end: number): boolean => {
  if (end - start > (list.length + 2) * "\\u0000".length) return false
  const json = body.toString("utf8", start, end)
  if (!json.includes("\\")) return json === `"${list}"`
  const name = parseJson(json)
  return Result.isSuccess(name) && name.success === list
}

/**
 * Whether the item between two indexes has more than `bytesMax` bytes, without white space around
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

const wrongCount =
  (code: string, detail: string) =>
  (pointer: string): Result.Result<never, BodyRefusal> =>
    Result.fail(invalidRequest([{ pointer, code, detail }]))
const tooFew = wrongCount("too_short", "must have at least 1")
const tooMany = wrongCount("too_long", `must have at most ${limits.batchItemsMax}`)

const noObject = { code: "invalid_type", detail: "must be an object" }
const largeAround = (kind: ItemKind<unknown>) => ({
  code: "too_large",
  detail: `must take at most ${limits.eventBytesMax} bytes beside its ${listOf(kind)}`,
})

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

/* Reads a batch that is NDJSON: one JSON item per line. Blank lines are skipped. */

/**
 * Reads the lines of `body`. Each step parses `decodeStepBytes` and one more line. A line that is
 * not UTF-8 is refused without the others.
 */
const batchLines = <Item>(kind: ItemKind<Item>, body: Buffer): BatchStep<Item> => {
  const isText = isUtf8(body)
  // In Latin-1, each character is a byte. In UTF-8 and in other bytes, the byte of a newline is
  // never a part of another character.
  const text = body.toString(isText ? "utf8" : "latin1")
  const items: Items<Item> = []
  let at = 0
  return () => {
    const until = at + limits.decodeStepBytes
    while (at < until) {
      // Skips white space before a line's JSON, and blank lines.
      while (at < until && isBlankLine(text.charCodeAt(at))) at++
      if (at >= text.length) return done(items)
      if (at === until) return undefined
      if (items.length === limits.batchItemsMax) return tooManyLines
      const newline = text.indexOf("\n", at)
      const end = newline === -1 ? text.length : newline
      items.push(
        isText
          ? itemOf(kind, text.slice(at, end), items.length)
          : itemOfBytes(kind, body.subarray(at, end), items.length),
      )
      at = end
    }
    return undefined
  }
}

const done = <Item>(items: Items<Item>): Result.Result<BatchInput<Item>, BodyRefusal> =>
  items.length === 0 ? tooFewLines : Result.succeed({ root: "", items })

const itemOf = <Item>(kind: ItemKind<Item>, line: string, index: number): Item | BodyRefusal => {
  // A character takes at most three bytes.
  const large = 3 * line.length > limits.eventBytesMax
  if (large && Buffer.byteLength(line) > limits.eventBytesMax)
    return tooLargeItem(kind, `/${index}`)
  const value = parseJson(line)
  return Result.isFailure(value) ? value.failure : decodeItem(kind, value.success, "", index)
}

const itemOfBytes = <Item>(
  kind: ItemKind<Item>,
  line: Buffer,
  index: number,
): Item | BodyRefusal => {
  if (line.length > limits.eventBytesMax) return tooLargeItem(kind, `/${index}`)
  return isUtf8(line) ? itemOf(kind, line.toString("utf8"), index) : notUtf8("line")
}

/** Whether `code` is white space of JSON. */
const isBlankLine = (code: number): boolean =>
  code === 0x0a || code === 0x0d || code === 0x20 || code === 0x09

const wrongLineCount = (code: string, detail: string) =>
  Result.fail(invalidRequest([{ pointer: "", code, detail }]))
const tooFewLines = wrongLineCount("too_short", "must have at least 1 line")
const tooManyLines = wrongLineCount("too_long", `must have at most ${limits.batchItemsMax} lines`)

/** The steps that decode a body: a JSON object with the list, or one JSON item per line. */
export const batchSteps = <Item>(
  kind: ItemKind<Item>,
  body: Buffer,
  mediaType: string,
): BatchStep<Item> => {
  if (mediaType === "application/x-ndjson") return batchLines(kind, body)
  return isUtf8(body) ? batchEnvelope(kind, body) : () => Result.fail(notUtf8("body"))
}
