/**
 * What is wrong with the metadata of an event or a quest. Walks at most `metadataDepthMax` levels deep, so that nesting
 * can not overflow the stack, and stops at the first fault: at the latest where even the shortest way to write the
 * members so far is beyond `metadataBytesMax`.
 */
import { limits } from "../Limits.ts"

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
  detail: "must be well-formed Unicode throughout",
}

/** The fault of `metadata`, an object that `JSON.parse` made; `undefined` if it has none. */
export const metadataFault = (metadata: object): MetadataFault | undefined => {
  const walk = new Walk()
  walk.object(metadata, 1)
  if (walk.fault !== undefined) return walk.fault
  // The walk's count is an upper bound; only what comes near the limit is worth an exact one,
  // which the walk keeps small: what is written out here can not be longer than some multiple of the limit.
  if (walk.bytes <= limits.metadataBytesMax) return undefined
  const exact = new TextEncoder().encode(JSON.stringify(metadata)).length
  return exact <= limits.metadataBytesMax ? undefined : tooLarge
}

class Walk {
  /** At most so many bytes, and at least. */
  bytes = 0
  leastBytes = 0
  fault: MetadataFault | undefined = undefined

  object(object: object, depth: number): void {
    if (depth > limits.metadataDepthMax) {
      this.fault = tooDeep
      return
    }
    this.bytes += 2
    // Two brackets; between values there is one comma less than there are values.
    this.leastBytes += 1
    if (Array.isArray(object)) {
      for (const item of object) {
        this.value(item, depth)
        if (this.fault !== undefined) return
      }
      return
    }
    for (const key in object) {
      this.leastBytes += 1
      this.text(key)
      this.value((object as Record<string, unknown>)[key], depth)
      if (this.fault !== undefined) return
    }
  }

  value(value: unknown, depth: number): void {
    this.bytes += 2
    this.leastBytes += 1
    if (typeof value === "string") this.text(value)
    else if (typeof value === "object" && value !== null) this.object(value, depth + 1)
    else {
      this.bytes += 25
      this.leastBytes += 1
    }
    if (this.leastBytes > limits.metadataBytesMax) this.fault ??= tooLarge
  }

  text(text: string): void {
    // Escaped, one code unit takes six bytes at most.
    this.bytes += 6 * text.length + 2
    this.leastBytes += text.length + 2
    if (!text.isWellFormed()) this.fault = malformed
  }
}
