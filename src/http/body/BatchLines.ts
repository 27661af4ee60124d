/** Reads a batch that is NDJSON: a JSON event a line. Blank lines are none. */
import { Result } from "effect"
import { invalidRequest } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { type BodyRefusal, parseJson } from "./Body.ts"
import { type BatchInput, type BatchStep, decodeMember, tooLargeEvent } from "./EventDecoder.ts"

/** Reads the lines of `text`; each step for `decodeStepBytes` and one line more. */
export const batchLines = (text: string): BatchStep => {
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
      events.push(eventOf(text.slice(at, end), events.length))
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

/** Whether `code` is white space of JSON. */
const isBlank = (code: number): boolean =>
  code === 0x0a || code === 0x0d || code === 0x20 || code === 0x09

const wrongCount = (code: string, detail: string) =>
  Result.fail(invalidRequest([{ pointer: "", code, detail }]))
const tooFew = wrongCount("too_short", "must have at least 1 line")
const tooMany = wrongCount("too_long", `must have at most ${limits.batchEventsMax} lines`)
