/**
 * JSON Pointers (RFC 6901): `/data/object/id` leads to a value inside a JSON document, and the empty
 * pointer to the whole document. In a name `~1` stands for `/` and `~0` for `~`. A list has its items
 * by their numbers.
 */
import { limits } from "../../Limits.ts"

/** The text of a pointer: empty, or steps that begin with `/`, with `~` only as `~0` or `~1`. */
export const jsonPointerPattern = /^(\/([^~/]|~[01])*)*$/

/** The fault of a pointer that a definition has; `undefined`: it has none. */
export const pointerFault = (pointer: string): string | undefined => {
  if (!jsonPointerPattern.test(pointer)) return "must be a JSON Pointer, such as /data/object/id"
  return pointer.split("/").length - 1 > limits.pointerTokensMax
    ? `must have at most ${limits.pointerTokensMax} names`
    : undefined
}

/** The names of a pointer from the document to the value. */
export type PointerPath = ReadonlyArray<string>

/** The path of a pointer of the right form. */
export const pointerPath = (pointer: string): PointerPath =>
  pointer
    .split("/")
    .slice(1)
    .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"))

/** A name as a pointer writes it: the inverse of `pointerPath`. */
export const pointerToken = (name: string): string =>
  name.replaceAll("~", "~0").replaceAll("/", "~1")

/**
 * The value at a path, or `undefined` where the document has none. Inherited members count as absent.
 */
export const valueAtPath = (document: unknown, path: PointerPath): unknown => {
  let value = document
  for (const name of path) {
    if (typeof value !== "object" || value === null) return undefined
    // The length of a list is no member of it.
    if (Array.isArray(value) && !/^(0|[1-9]\d*)$/.test(name)) return undefined
    if (!Object.hasOwn(value, name)) return undefined
    value = (value as Readonly<Record<string, unknown>>)[name]
  }
  return value
}

/**
 * The value at a pointer.
 *
 *     valueAt({ a: [1, 2] }, "/a/1") // 2
 */
export const valueAt = (value: unknown, pointer: string): unknown =>
  valueAtPath(value, pointerPath(pointer))
