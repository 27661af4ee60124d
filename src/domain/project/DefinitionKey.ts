/**
 * The key of a definition: the name that a caller gives it, for use in code, paths and files. It is
 * unique among the definitions of its kind in an environment, archived ones included, and never
 * changes. A key never looks like an id, so a path may hold either.
 */
import { limits } from "../../Limits.ts"
import { idPrefixes } from "../values/Ids.ts"

export const definitionKeyPattern = /^[a-z][a-z0-9_-]{0,63}$/

const idPrefix = new RegExp(`^(?:${idPrefixes.join("|")})_`)

/** The fault of `text`, which has the form of a key; `undefined`: it is a key. */
export const definitionKeyFault = (text: string): string | undefined => {
  const [prefix] = idPrefix.exec(text) ?? []
  return prefix && `must not begin with ${prefix}, as ids of Laurel do`
}

/**
 * The key made from the name, title or action of a definition: small letters without accents, digits
 * and underscores, and dashes for all else. `noun` begins a key that would begin otherwise or like an
 * id.
 */
export const keyFrom = (name: string, noun: string): string => {
  const words = name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, "-")
    .replace(/^-+|-+$/g, "")
  const key = /^[a-z]/.test(words) && !idPrefix.test(words) ? words : `${noun}-${words}`
  return shortened(key, limits.keyCharactersMax)
}

const shortened = (key: string, charactersMax: number): string =>
  key.slice(0, charactersMax).replace(/-+$/, "")

export interface Keyed {
  readonly id: string
  readonly key: string
}

type Definitions<A extends Keyed = Keyed> = ReadonlyMap<string, A>

const indexes = new WeakMap<Definitions, Map<string, string>>()

/** The last answer: most credits ask about the same currencies as the credit before. */
let asked: Definitions | undefined
let answer = new Map<string, string>()

/** The ids of definitions by their keys. A caller who adds a definition to a map adds its key. */
export const idsByKey = (definitions: Definitions): Map<string, string> => {
  if (asked === definitions) return answer
  let ids = indexes.get(definitions)
  if (ids === undefined) {
    ids = new Map()
    for (const { id, key } of definitions.values()) ids.set(key, id)
    indexes.set(definitions, ids)
  }
  asked = definitions
  answer = ids
  return ids
}

/** The definition with this key. */
export const definitionWithKey = <A extends Keyed>(
  definitions: Definitions<A>,
  key: string,
): A | undefined => definitions.get(idsByKey(definitions).get(key) ?? "")

/** The definition with this id or key. */
export const definitionOf = <A extends Keyed>(
  definitions: Definitions<A>,
  idOrKey: string,
): A | undefined => definitions.get(idOrKey) ?? definitionWithKey(definitions, idOrKey)

/** `key`, or if it is taken, the first free one of `key-2`, `key-3` and so on. */
export const freeKey = (definitions: Definitions, key: string): string => {
  const taken = idsByKey(definitions)
  let free = key
  for (let number = 2; taken.has(free); number++) {
    const ending = `-${number}`
    free = `${shortened(key, limits.keyCharactersMax - ending.length)}${ending}`
  }
  return free
}
