/**
 * Cursors of lists. A page ends with the cursor of its last item; the next page begins behind that
 * item.
 *
 * A cursor has the position of the item in the order of its list, not a number of items. So an item
 * that others add meanwhile moves no other item to another page, and a cursor stays good over a
 * restart, a snapshot, and the removal of its item. The server keeps nothing for a cursor.
 *
 * Form: the version, then base64url of a JSON list and its checksum. The JSON list has the name of
 * the list, a hash of the environment and the filters, and the position. A cursor proves nothing:
 * anybody can make one. It only moves the start of a list that the caller may read anyway. The
 * checks find mistakes: a damaged cursor, or one of another list, of other filters or of another
 * environment. `Common.ts` has the parameter, `handlers/Shapes.ts` makes the pages.
 */
import { nouns, type Plural, plurals } from "../../domain/project/Kinds.ts"

/** The position of an item in its list. */
interface Positions extends Readonly<Record<Plural, readonly [createdAt: number, id: string]>> {
  /** The user's id; in an order other than that of ids also the number by which it is sorted. */
  readonly users: readonly [id: string, key?: number]
  readonly webhooks: readonly [createdAt: number, id: string]
  readonly teams: readonly [id: string]
  /** The user's id. */
  readonly teamMembers: readonly [id: string]
  /** The number of the fact in its record. */
  readonly history: readonly [sequence: number, index: number]
  /** The record with which the next page begins. */
  readonly rewards: readonly [sequence: number]
  readonly spends: readonly [sequence: number]
  readonly purchases: readonly [sequence: number]
  readonly deliveries: readonly [sequence: number, index: number]
  readonly actions: readonly [action: string]
  /** The last record of the page, and when it was decided; an erased record has the time 0. */
  readonly facts: readonly [sequence: number, at: number]
  readonly cohorts: readonly [cohort: number]
  /** The name of the group. */
  readonly boardGroups: readonly [name: string]
}

export type ListName = keyof Positions
export type Position<List extends ListName> = Positions[List]

/** A number with a question mark may be absent, at the end. */
type Parts = ReadonlyArray<"number" | "number?" | "string">

const ofDefinition: Parts = ["number", "string"]

/** The types of a position's parts. */
const partsOf: { readonly [List in ListName]: Parts } = {
  ...(Object.fromEntries(nouns.map((noun) => [plurals[noun], ofDefinition])) as Record<
    Plural,
    Parts
  >),
  users: ["string", "number?"],
  teams: ["string"],
  teamMembers: ["string"],
  webhooks: ofDefinition,
  history: ["number", "number"],
  rewards: ["number"],
  spends: ["number"],
  purchases: ["number"],
  deliveries: ["number", "number"],
  actions: ["string"],
  facts: ["number", "number"],
  cohorts: ["number"],
  boardGroups: ["string"],
}

/** The parameters of a request that choose the items of a list, by name. */
export type Filters = Readonly<Record<string, unknown>>

const version = "1"

/** Whether the text is a cursor of another version, as far as its start tells. */
export const isOfOtherVersion = (cursor: string): boolean => /^[02-9]/.test(cursor)

const checksumBytes = 4

/** A hash of bytes (FNV-1a, 32 bits). It differs for bytes that differ in one place. */
export const checksumOf = (bytes: Uint8Array): number => {
  let hash = 0x811c9dc5
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193)
  return hash >>> 0
}

/** A hash of an environment and the filters of a list. Filters without a value do not count. */
const hashOf = (environment: string, filters: Filters): number => {
  const given = Object.entries(filters).filter(([, value]) => value !== undefined)
  const sorted = given.sort(([one], [other]) => (one < other ? -1 : 1))
  return checksumOf(Buffer.from(JSON.stringify([environment, sorted])))
}

export const cursorOf = <List extends ListName>(
  list: List,
  environment: string,
  filters: Filters,
  position: Position<List>,
): string => {
  const body = Buffer.from(JSON.stringify([list, hashOf(environment, filters), ...position]))
  const checksum = Buffer.alloc(checksumBytes)
  checksum.writeUInt32BE(checksumOf(body))
  return version + Buffer.concat([body, checksum]).toString("base64url")
}

interface CursorParts {
  readonly list: ListName
  readonly hash: number
  readonly position: ReadonlyArray<number | string>
}

/** The parts of a cursor; `undefined` for a text without the form of a cursor. */
export const readCursor = (cursor: string): CursorParts | undefined => {
  if (!cursor.startsWith(version)) return undefined
  const bytes = Buffer.from(cursor.slice(version.length), "base64url")
  // The decoder skips characters that are not base64url.
  if (bytes.toString("base64url") !== cursor.slice(version.length)) return undefined
  const end = bytes.length - checksumBytes
  if (end < 1 || checksumOf(bytes.subarray(0, end)) !== bytes.readUInt32BE(end)) return undefined
  const [list, hash, ...position] = partsOfText(bytes.toString("utf8", 0, end))
  const isList = typeof list === "string" && Object.hasOwn(partsOf, list)
  if (!isList || typeof hash !== "number") return undefined
  const parts = partsOf[list as ListName]
  const isPosition =
    position.length <= parts.length && parts.every((type, index) => isPart(type, position[index]))
  return isPosition ? ({ list, hash, position } as CursorParts) : undefined
}

const partsOfText = (text: string): ReadonlyArray<unknown> => {
  try {
    const parts: unknown = JSON.parse(text)
    return Array.isArray(parts) ? parts : []
  } catch {
    return []
  }
}

const isPart = (type: Parts[number], part: unknown): boolean =>
  type !== "string"
    ? (type === "number?" && part === undefined) ||
      (Number.isSafeInteger(part) && (part as number) >= 0)
    : typeof part === "string" && part.isWellFormed()

/**
 * The position in a cursor of this list, environment and filters; `undefined` for any other text.
 */
export const positionIn = <List extends ListName>(
  list: List,
  environment: string,
  filters: Filters,
  cursor: string,
): Position<List> | undefined => {
  const found = readCursor(cursor)
  return found?.list === list && found.hash === hashOf(environment, filters)
    ? (found.position as unknown as Position<List>)
    : undefined
}
