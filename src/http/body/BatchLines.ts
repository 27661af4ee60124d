/** Reads a batch that is NDJSON: a JSON event a line. Blank lines are none. */
import { isUtf8 } from "node:buffer"
import { Result } from "effect"
import { invalidRequest } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { type BodyRefusal, notUtf8, parseJson } from "./Body.ts"
import { type BatchInput, type BatchStep, decodeMember, tooLargeEvent } from "./EventDecoder.ts"

/** Reads the lines of `body`; each step for `decodeStepBytes` and one line more. A line that is not UTF-8 is refused alone. */
export const batchLines = (body: Buffer): BatchStep => {
  const isText = isUtf8(body)
  // Each character of Latin-1 is a byte. In UTF-8 and beside it, a newline is one byte that is part of nothing else.
  const text = body.toString(isText ? "utf8" : "latin1")
  const events: Array<BatchInput["events"][number]> = []
  let at = 0
  return () => {
    const until = at + limits.decodeStepBytes
    while (at < until) {
      // White space before a line's JSON, and blank lines.
      while (at < until && isBlank(text.charCodeAt(at))) at++
      if (at >= text.length) return done(events)
      if (at === until) return undefined
      if (events.length === limits.batchEventsMax) return tooMany
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
  events.length === 0 ? tooFew : Result.succeed({ root: "", events })

const eventOf = (line: string, index: number): BatchInput["events"][number] => {
  // A character takes three bytes at most.
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
const isBlank = (code: number): boolean =>
  code === 0x0a || code === 0x0d || code === 0x20 || code === 0x09

const wrongCount = (code: string, detail: string) =>
  Result.fail(invalidRequest([{ pointer: "", code, detail }]))
const tooFew = wrongCount("too_short", "must have at least 1 line")
const tooMany = wrongCount("too_long", `must have at most ${limits.batchEventsMax} lines`)
