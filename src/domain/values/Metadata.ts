/**
 * What is wrong with the metadata of an event or a quest. Walks at most `metadataDepthMax` levels deep, so that nesting
 * can not overflow the stack, and stops at the first fault.
 *
 * Most metadata is far below its limit: the walk adds up the most bytes that JSON could need, and what stays within the
 * limit by that count needs no other. Only else a second walk adds up the fewest, which ends at the latest where even
 * those are too many; what passes both is written out for an exact count, and is small.
 */
import { limits } from "../../Limits.ts"

/** A JSON object of the caller's. */
export type Metadata = { readonly [key: string]: unknown }

interface MetadataFault {
  readonly code: "too_deep" | "too_large" | "invalid_format"
  readonly detail: string
}

const tooDeep: MetadataFault = {
  code: "too_deep",
  detail: `must not be nested deeper than ${limits.metadataDepthMax} levels`,
}
const tooLarge: MetadataFault = {
  code: "too_large",
  detail: `must take at most ${limits.metadataBytesMax} bytes as JSON`,
}
const malformed: MetadataFault = {
  code: "invalid_format",
  detail: "must be well-formed Unicode",
}

/** The fault of `metadata`, an object that `JSON.parse` made; `undefined` if it has none. */
export const metadataFault = (metadata: object): MetadataFault | undefined => {
  const walk = new Walk(mostBytes)
  walk.object(metadata, 1)
  if (walk.fault !== tooLarge) return walk.fault
  const exact = new Walk(fewestBytes)
  exact.object(metadata, 1)
  if (exact.fault !== undefined) return exact.fault
  const bytes = new TextEncoder().encode(JSON.stringify(metadata)).length
  return bytes <= limits.metadataBytesMax ? undefined : tooLarge
}

/**
 * How many bytes JSON needs for a code unit of text, for a number, `true`, `false` or `null`, and for the brackets of
 * something: two, or one less, since between values there is a comma less than there are values.
 */
interface Weights {
  readonly brackets: number
  readonly codeUnit: number
  readonly scalar: number
}

const mostBytes: Weights = { brackets: 2, codeUnit: 6, scalar: 26 }
const fewestBytes: Weights = { brackets: 1, codeUnit: 1, scalar: 1 }

class Walk {
  bytes = 0
  fault: MetadataFault | undefined = undefined
  readonly #weights: Weights

  constructor(weights: Weights) {
    this.#weights = weights
  }

  object(object: object, depth: number): void {
    if (depth > limits.metadataDepthMax) {
      this.fault = tooDeep
      return
    }
    this.bytes += this.#weights.brackets
    if (Array.isArray(object)) {
      for (const item of object) {
        this.value(item, depth)
        if (this.fault !== undefined) return
      }
      return
    }
    for (const key in object) {
      this.bytes += 1
      this.text(key)
      this.value((object as Record<string, unknown>)[key], depth)
      if (this.fault !== undefined) return
    }
  }

  value(value: unknown, depth: number): void {
    this.bytes += 1
    if (typeof value === "string") this.text(value)
    else if (typeof value === "object" && value !== null) this.object(value, depth + 1)
    else this.bytes += this.#weights.scalar
    if (this.bytes > limits.metadataBytesMax) this.fault ??= tooLarge
  }

  text(text: string): void {
    this.bytes += this.#weights.codeUnit * text.length + 2
    if (!text.isWellFormed()) this.fault = malformed
  }
}
