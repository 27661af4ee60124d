/** Changes of `/openapi.json` in keywords that oasdiff 1.15 does not compare. */

export type Json = null | boolean | number | string | ReadonlyArray<Json> | JsonObject
export interface JsonObject {
  readonly [name: string]: Json
}

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export type Effect = "incompatible" | "compatible"

/** Upper bounds may grow and lower ones shrink, or go. */
const upper = ["maxItems", "maxProperties"]
const lower = ["minProperties"]
/** Any change is incompatible. */
const fixed = ["format", "uniqueItems", "multipleOf", "propertyNames", "const", "scheme", "servers"]

/** The scopes of an operation may grow. */
const growing = ["x-laurel-scopes"]

/** Changes of keywords that oasdiff does not compare, in objects that both documents have. */
export const unseen = (
  recorded: Json,
  present: Json,
  place = "#",
): ReadonlyArray<{ readonly effect: Effect; readonly line: string }> => {
  if (Array.isArray(recorded) && Array.isArray(present)) {
    return recorded.flatMap((each, at) =>
      unseen(each, counterpart(each, at, recorded, present), `${place}/${at}`),
    )
  }
  if (!isObject(recorded) || !isObject(present)) return []
  return [...new Set([...Object.keys(recorded), ...Object.keys(present)])].flatMap((name) => {
    const [before, now] = [recorded[name], present[name]]
    const effect = effectOf(place, name, before, now)
    if (effect !== undefined) {
      const line = `${place}/${name}: was ${JSON.stringify(before)}, is ${JSON.stringify(now)}`
      return [{ effect, line }]
    }
    if (before === undefined || now === undefined) return []
    return unseen(before, now, `${place}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`)
  })
}

/** A parameter is found by its name; other elements by their place, where oasdiff reports what came or went. */
const counterpart = (
  each: Json,
  at: number,
  recorded: ReadonlyArray<Json>,
  present: ReadonlyArray<Json>,
): Json => {
  if (!isObject(each) || each.name === undefined) {
    return recorded.length === present.length ? present[at]! : null
  }
  return present.find((other) => isObject(other) && other.name === each.name) ?? null
}

/** `undefined`: there is no change, or oasdiff judges it. A member of this name is an object, a keyword is none. */
const effectOf = (
  place: string,
  name: string,
  before: Json | undefined,
  now: Json | undefined,
): Effect | undefined => {
  if (JSON.stringify(before) === JSON.stringify(now)) return undefined
  const number = (value: Json | undefined, none: number) =>
    typeof value === "number" ? value : none
  const list = (value: Json | undefined) => (Array.isArray(value) ? value : [])
  const effect = (isNarrower: boolean) => (isNarrower ? "incompatible" : "compatible")
  if (name === "additionalProperties") {
    if (isObject(before) && isObject(now)) return undefined
    return effect(now === false)
  }
  if (isObject(before) || isObject(now)) return undefined
  if (growing.includes(name)) return effect(list(before).some((each) => !list(now).includes(each)))
  const infinite = Number.POSITIVE_INFINITY
  if (upper.includes(name)) return effect(number(now, infinite) < number(before, infinite))
  if (lower.includes(name)) return effect(number(now, 0) > number(before, 0))
  const isHeaderType = name === "type" && place.includes("/headers/")
  return isHeaderType || fixed.includes(name) ? "incompatible" : undefined
}
