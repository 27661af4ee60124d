/**
 * The paths of the metadata that the events of each action carried, with the kinds of their values. They
 * help people who write conditions. No value is kept.
 *
 * - Periods of `pathsPeriodMs` are in the server's time. The counts are of the present period and the one before,
 *   so a path that events no longer carry is dropped after one to two periods. An erasure of a user removes no path,
 *   so a personal name, such as an id used as a name, stays as long.
 * - Events are sampled: the first events of an action in a period, then one of `pathsSample` by a hash
 *   of the record's sequence. So a replay samples the same events.
 * - Left out, and reported as `more`: names that no condition can have (with a dot), that look like ids,
 *   or that do not print; objects with many members below the first level, which are maps; all beyond
 *   the limits. In a full table a new path replaces the oldest path that was seen once, a few times
 *   an event: names that never repeat replace each other, not names that repeat.
 * - Actions that no definition named take at most half of an environment's places.
 *
 * Cost: for a sampled event, a look-up in a map for each member of its metadata. A snapshot has
 * at most `pathsOfEnvironmentMax` paths of `pathCharactersMax` characters.
 */
import { type Metadata, type MetadataKind, metadataKinds } from "../../domain/values/Metadata.ts"
import { limits } from "../../Limits.ts"

/** A path, and the number of sampled events that carried it. */
export interface SeenPath {
  readonly path: string
  readonly kinds: ReadonlyArray<MetadataKind>
  readonly events: number
}

export interface ActionPaths {
  /** The number of sampled events, with metadata or without. */
  readonly looked: number
  /** The most frequent first. */
  readonly paths: ReadonlyArray<SeenPath>
  /** Whether something was left out. */
  readonly more: boolean
}

const noPaths: ActionPaths = { looked: 0, paths: [], more: false }

/** Counts of the present period and of the one before. */
interface Twice {
  now: number
  before: number
}

interface Path extends Twice {
  /** A bit for each of `metadataKinds`. */
  kinds: number
}

interface Table extends Twice {
  readonly matched: boolean
  more: boolean
  readonly paths: Map<string, Path>
}

export interface StoredPaths {
  readonly period: number
  readonly actions: ReadonlyArray<
    readonly [
      action: string,
      matched: 0 | 1,
      more: 0 | 1,
      now: number,
      before: number,
      paths: ReadonlyArray<readonly [path: string, kinds: number, now: number, before: number]>,
    ]
  >
}

/** A name that may be an id: with an @ or four digits, or a number. */
const idLike = /@|^\d+$|\d\D*\d\D*\d\D*\d/
/** Also a name of spaces, and controls of the direction of text. */
const unprintable = /\p{C}|\.|^\s*$/u

const periodOf = (at: number): number => Math.floor(at / limits.pathsPeriodMs)

export class MetadataPaths {
  #period = 0
  readonly #byAction = new Map<string, Table>()
  /** Paths of all actions, and of those that no definition named. */
  #size = 0
  #unmatched = 0

  /** Reads the paths of an event, unless the sample leaves it out; returns whether it read them. */
  look(
    action: string,
    metadata: Metadata | undefined,
    record: { readonly at: number; readonly sequence: number },
    matched: boolean,
  ): boolean {
    const period = periodOf(record.at)
    if (period > this.#period) this.#begin(period)
    const table = this.#byAction.get(action) ?? this.#begun(action, matched)
    if (table.now >= limits.pathsLookedFirst && !isSampled(record.sequence)) return false
    table.now++
    if (metadata !== undefined) new Look(this, table).members(metadata, "")
    return true
  }

  #begun(action: string, matched: boolean): Table {
    const table: Table = { matched, more: false, now: 0, before: 0, paths: new Map() }
    this.#byAction.set(action, table)
    return table
  }

  /** A new place for a path. */
  place(table: Table, path: string): Path {
    const found = { kinds: 0, now: 0, before: 0 }
    this.#add(table, path, found)
    return found
  }

  isFull({ matched, paths }: Table): boolean {
    const all = limits.pathsOfEnvironmentMax
    return (
      paths.size >= limits.pathsOfActionMax ||
      this.#size >= all ||
      (!matched && this.#unmatched >= all / 2)
    )
  }

  /** Drops the oldest path that was seen once; false: there is none. */
  dropRare(table: Table): boolean {
    for (const [path, { before, now }] of table.paths) {
      if (now + before > 1) continue
      this.#drop(table, path)
      return true
    }
    return false
  }

  #add(table: Table, path: string, found: Path): void {
    table.paths.set(path, found)
    this.#size++
    if (!table.matched) this.#unmatched++
  }

  #drop(table: Table, path: string): void {
    table.paths.delete(path)
    this.#size--
    if (!table.matched) this.#unmatched--
  }

  /** Begins a period. Drops paths that were seen in neither of the two periods. */
  #begin(period: number): void {
    const isNext = period === this.#period + 1
    const turn = (counts: Twice) => {
      counts.before = isNext ? counts.now : 0
      counts.now = 0
      return counts.before
    }
    for (const [action, table] of this.#byAction) {
      table.more = false
      for (const [path, found] of table.paths) if (turn(found) === 0) this.#drop(table, path)
      if (turn(table) === 0) this.#byAction.delete(action)
    }
    this.#period = period
  }

  /** The paths of an action, as of `now` in epoch milliseconds. */
  of(action: string, now: number): ActionPaths {
    const table = this.#byAction.get(action)
    if (table === undefined) return noPaths
    const passed = periodOf(now) - this.#period
    const sum = (counts: Twice) =>
      passed <= 0 ? counts.now + counts.before : passed === 1 ? counts.now : 0
    const looked = sum(table)
    if (looked === 0) return noPaths
    const paths = Array.from(table.paths, ([path, found]) => {
      const kinds = metadataKinds.filter((_, bit) => (found.kinds & (1 << bit)) !== 0)
      return { path, kinds, events: sum(found) }
    }).filter(({ events }) => events > 0)
    paths.sort((one, other) => other.events - one.events || (one.path < other.path ? -1 : 1))
    return { looked, paths, more: table.more }
  }

  load({ actions, period }: StoredPaths): void {
    this.#period = period
    for (const [action, matched, more, now, before, paths] of actions) {
      const table = this.#begun(action, matched === 1)
      table.more = more === 1
      table.now = now
      table.before = before
      for (const [path, kinds, now, before] of paths) this.#add(table, path, { kinds, now, before })
    }
  }

  /** The member for the snapshot; none without an action. */
  stored(): { readonly paths?: StoredPaths } {
    if (this.#byAction.size === 0) return {}
    const actions = Array.from(
      this.#byAction,
      ([action, { before, matched, more, now, paths }]) =>
        [
          action,
          matched ? 1 : 0,
          more ? 1 : 0,
          now,
          before,
          Array.from(
            paths,
            ([path, found]) => [path, found.kinds, found.now, found.before] as const,
          ),
        ] as const,
    )
    return { paths: { period: this.#period, actions } }
  }
}

/** By a hash, since events of a client may alternate. */
const isSampled = (sequence: number): boolean =>
  (Math.imul(sequence, 0x9e3779b1) >>> 0) % limits.pathsSample === 0

/** The walk over the metadata of one event. */
class Look {
  readonly #paths: MetadataPaths
  readonly #table: Table
  #left: number = limits.pathsLookedPerEvent
  /** How many rare paths the paths of this event may still replace. */
  #replaces: number = limits.pathsReplacedPerEvent

  constructor(paths: MetadataPaths, table: Table) {
    this.#paths = paths
    this.#table = table
  }

  members(value: object, prefix: string): void {
    for (const name in value) {
      if (this.#left-- <= 0) {
        this.#table.more = true
        return
      }
      const path = prefix === "" ? name : `${prefix}.${name}`
      this.#value((value as Record<string, unknown>)[name], path, name)
    }
  }

  #value(value: unknown, path: string, name: string): void {
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value)
    if (isObject && !isMap(value)) {
      if (this.#isName(path, name)) this.members(value, path)
      return
    }
    let found = this.#table.paths.get(path)
    if (found === undefined) {
      if (!this.#isName(path, name)) return
      if (this.#paths.isFull(this.#table)) {
        this.#table.more = true
        if (this.#replaces-- <= 0 || !this.#paths.dropRare(this.#table)) return
      }
      found = this.#paths.place(this.#table, path)
    }
    found.now++
    found.kinds |= 1 << metadataKinds.indexOf(kindOf(value))
  }

  #isName(path: string, name: string): boolean {
    const isName =
      path.length <= limits.pathCharactersMax && !idLike.test(name) && !unprintable.test(name)
    if (!isName) this.#table.more = true
    return isName
  }
}

/** Whether an object has so many members that their names are keys of a map. Empty: no path leads into it. */
const isMap = (value: object): boolean => {
  let members = 0
  for (const _ in value) if (++members > limits.pathsMembersMax) return true
  return members === 0
}

const kindOf = (value: unknown): MetadataKind => {
  switch (typeof value) {
    case "string":
      return "text"
    case "number":
      return "number"
    case "boolean":
      return "boolean"
    default:
      return value === null ? "null" : Array.isArray(value) ? "list" : "object"
  }
}
