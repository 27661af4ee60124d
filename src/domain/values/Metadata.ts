/**
 * Checks the metadata of an event or a definition. The walk is at most `metadataDepthMax` levels deep,
 * so nesting cannot overflow the stack, and it stops at the first fault.
 *
 * Cost: most metadata is far smaller than the limit, so the first walk sums an upper bound of its
 * JSON bytes. If the bound exceeds the limit, a second walk sums a lower bound and stops when the
 * lower bound exceeds the limit. Only metadata between the two bounds is encoded for an exact
 * count.
 */
import { limits } from "../../Limits.ts"

/** A JSON object of a caller. */
export type Metadata = { readonly [key: string]: unknown }

/** The kinds of values in metadata. */
export const metadataKinds = ["text", "number", "boolean", "list", "null", "object"] as const
export type MetadataKind = (typeof metadataKinds)[number]

interface MetadataFault {
  readonly code: "too_deep" | "too_large" | "invalid_format" | "out_of_range"
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

/** `JSON.parse` turns such a number into Infinity, which JSON cannot hold. */
const infinite: MetadataFault = {
  code: "out_of_range",
  detail: "must not contain numbers beyond ±1.8e308",
}

/** The fault of `metadata`, an object from `JSON.parse`; `undefined` if it has none. */
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
 * The JSON bytes of a code unit of text, of a scalar (number, `true`, `false`, `null`) and of a
 * pair of brackets. A pair counts one byte in the lower bound, because the walk counts a comma for
 * each of n values, which have n − 1 commas.
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
    else {
      this.bytes += this.#weights.scalar
      if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) {
        this.fault = infinite
      }
    }
    if (this.bytes > limits.metadataBytesMax) this.fault ??= tooLarge
  }

  text(text: string): void {
    this.bytes += this.#weights.codeUnit * text.length + 2
    if (!text.isWellFormed()) this.fault = malformed
  }
}

/* JSON merge patch (RFC 7396). The caller bounds the depth. */

const isObject = (value: unknown): value is Metadata =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** `target` with the members of `patch`: null removes a member, objects are merged recursively. */
export const mergePatch = (target: Metadata, patch: Metadata): Metadata => {
  const members = new Map(Object.entries(target))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) members.delete(key)
    else if (isObject(value)) {
      const before = members.get(key)
      members.set(key, mergePatch(isObject(before) ? before : {}, value))
    } else members.set(key, value)
  }
  // `fromEntries` defines members, so `__proto__` is an ordinary member.
  return Object.fromEntries(members)
}

/** `before` after a patch: absent, no change; null, no metadata. */
export const patchedMetadata = (before: Metadata, patch: Metadata | null | undefined): Metadata =>
  patch === null ? {} : patch === undefined ? before : mergePatch(before, patch)
