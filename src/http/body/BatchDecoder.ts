/** From the body of a batch to its events, in steps that are short for every body. */
import { isUtf8 } from "node:buffer"
import { Result } from "effect"
import { batchEnvelope } from "./BatchEnvelope.ts"
import { batchLines } from "./BatchLines.ts"
import { notUtf8 } from "./Body.ts"
import type { BatchStep } from "./EventDecoder.ts"

/** The steps that decode a body: a JSON object with `events`, or a JSON event a line. */
export const batchSteps = (body: Buffer, mediaType: string): BatchStep => {
  if (mediaType === "application/x-ndjson") return batchLines(body)
  return isUtf8(body) ? batchEnvelope(body) : () => Result.fail(notUtf8("body"))
}
