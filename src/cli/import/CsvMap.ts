/**
 * The map of a CSV file: which column becomes which member of an opening or of an event. A row becomes
 * what the API takes, and is checked by the schemas of the API, so that a dry run finds what the server
 * would refuse.
 */
import { createHash } from "node:crypto"
import { Result, Schema, SchemaIssue, SchemaParser } from "effect"
import { dayOf } from "../../domain/values/Calendar.ts"
import type { Fault } from "../../domain/values/Errors.ts"
import { jsonPointerPattern, valueAt } from "../../domain/values/jsonPointer.ts"
import { BatchedOpening } from "../../http/api/Opening.ts"
import { decodeEvent, strictInput } from "../../http/body/EventDecoder.ts"
import { inputDecoder } from "../../http/body/InputDecoder.ts"
import { limits } from "../../Limits.ts"

const text = Schema.String.check(Schema.isMinLength(1))

/**
 * Where a value is: in a column, or in the JSON text of its cells. There it is at the JSON Pointer
 * `at`. With `where` the cell holds a list, and the pointer starts at its first object that has these
 * members.
 */
const InJson = {
  column: text,
  where: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite, Schema.Boolean])),
  ),
  at: Schema.optionalKey(Schema.String.check(Schema.isPattern(jsonPointerPattern))),
}
const Source = Schema.Union([text, Schema.Struct(InJson)])
type Source = typeof Source.Type

const sources = Schema.Record(Schema.String, Source)

const Streak = Schema.Struct({
  current: Schema.optionalKey(Source),
  best: Schema.optionalKey(Source),
  lastDay: Schema.optionalKey(Source),
})

const Openings = Schema.Struct({
  userId: Source,
  balances: Schema.optionalKey(sources),
  earned: Schema.optionalKey(sources),
  streaks: Schema.optionalKey(Schema.Record(Schema.String, Streak)),
  badges: Schema.optionalKey(sources),
})

const Events = Schema.Struct({
  userId: Source,
  /** One action for all rows, or where it is. */
  action: Schema.Union([Schema.Struct({ value: text }), Source]),
  occurredAt: Source,
  id: Schema.optionalKey(Source),
  metadata: Schema.optionalKey(
    Schema.Record(
      Schema.String,
      Schema.Union([
        text,
        Schema.Struct({
          ...InJson,
          as: Schema.optionalKey(Schema.Literals(["number", "boolean"])),
        }),
      ]),
    ),
  ),
})

const MapFile = Schema.Struct({
  openings: Schema.optionalKey(Openings),
  events: Schema.optionalKey(Events),
  delimiter: Schema.optionalKey(text),
  /** What encloses cells with delimiters; `false`: nothing does. */
  quote: Schema.optionalKey(Schema.Literal(false)),
  times: Schema.optionalKey(Schema.Literals(["iso", "seconds", "milliseconds"])),
})

export type CsvMap = typeof MapFile.Type

/** The map in a text, or what is wrong with it. */
export const mapOf = (source: string): Result.Result<CsvMap, string> => {
  let value: unknown
  try {
    value = JSON.parse(source)
  } catch (error) {
    return Result.fail((error as Error).message)
  }
  const decode = SchemaParser.decodeUnknownResult(MapFile, {
    errors: "all",
    onExcessProperty: "error",
  })
  const decoded = Result.mapError(decode(value), SchemaIssue.makeFormatterDefault())
  if (Result.isFailure(decoded)) return decoded
  const { events, openings } = decoded.success
  return (events === undefined) === (openings === undefined)
    ? Result.fail("It must have either openings or events.")
    : decoded
}

/** The keys of what an environment defines. */
export interface Defined {
  readonly currencies: ReadonlySet<string>
  readonly streaks: ReadonlySet<string>
  readonly badges: ReadonlySet<string>
}

/** What the map names and the environment does not define. */
export const unknownIn = ({ openings }: CsvMap, defined: Defined): ReadonlyArray<string> => {
  const { badges = {}, balances = {}, earned = {}, streaks = {} } = openings ?? {}
  const unknown = (member: string, noun: string, keys: object, known: ReadonlySet<string>) =>
    Object.keys(keys).flatMap((key) =>
      known.has(key.split(".")[0]!)
        ? []
        : [`openings.${member}.${key}: the environment has no ${noun} with this key.`],
    )
  return [
    ...unknown("balances", "currency", balances, defined.currencies),
    ...unknown("earned", "currency", earned, defined.currencies),
    ...unknown("streaks", "streak", streaks, defined.streaks),
    ...unknown("badges", "badge", badges, defined.badges),
  ]
}

/** The columns that the map names. */
export const columnsOf = ({ events, openings }: CsvMap): ReadonlyArray<string> => {
  if (events !== undefined) {
    const { action, id, metadata = {}, occurredAt, userId } = events
    return [
      userId,
      occurredAt,
      ...(isValue(action) ? [] : [action]),
      ...(id === undefined ? [] : [id]),
      ...Object.values(metadata),
    ].map(columnOf)
  }
  const { badges = {}, balances = {}, earned = {}, streaks = {}, userId } = openings!
  return [
    userId,
    ...[balances, earned, badges].flatMap((part) => Object.values(part)),
    ...Object.values(streaks).flatMap((streak) => Object.values(streak)),
  ].map(columnOf)
}

const columnOf = (source: Source): string => (typeof source === "string" ? source : source.column)

const isValue = (
  action: NonNullable<CsvMap["events"]>["action"],
): action is { readonly value: string } => typeof action !== "string" && "value" in action

/** A row, by column; the text of an empty cell is empty. */
export type Row = Readonly<Record<string, string>>

/** What a row becomes: a body of the API without faults. */
export interface Item {
  readonly userId: string
}

/** What a cell says: a value, or why it is none. */
type Cell = unknown

class Reader {
  readonly faults: Array<Fault> = []
  readonly #row: Row
  readonly #times: CsvMap["times"]

  constructor(row: Row, times: CsvMap["times"]) {
    this.#row = row
    this.#times = times
  }

  /** The text of a cell, or of a value in its JSON; empty: there is none, or the cell is faulty. */
  text(source: Source): string {
    if (typeof source === "string") return this.#row[source] ?? ""
    const cell = this.#row[source.column] ?? ""
    if (cell === "") return ""
    let json: unknown
    try {
      json = JSON.parse(cell)
    } catch {
      this.#fault(source, "invalid_format", `must be JSON, not ${shown(cell)}`)
      return ""
    }
    const value = valueAt(firstWhere(json, source.where), source.at ?? "")
    if (value === undefined || value === null) return ""
    if (typeof value !== "object") return String(value)
    const place = source.at === undefined ? "" : ` at ${source.at}`
    this.#fault(source, "invalid_format", `must have a text, number or boolean${place}`)
    return ""
  }

  #fault(source: Source, code: string, detail: string): undefined {
    this.faults.push({ pointer: `column ${columnOf(source)}`, code, detail })
    return undefined
  }

  /** A number; `undefined`: the cell is empty or faulty. */
  number(source: Source): number | undefined {
    const cell = this.text(source)
    if (cell === "") return undefined
    const number = Number(cell)
    return /^-?\d+(\.\d+)?$/.test(cell) && Number.isFinite(number)
      ? number
      : this.#fault(source, "invalid_format", `must be a number such as 1250, not ${shown(cell)}`)
  }

  boolean(source: Source): boolean | undefined {
    const cell = this.text(source).toLowerCase()
    if (cell === "") return undefined
    if (["true", "yes", "1"].includes(cell)) return true
    if (["false", "no", "0"].includes(cell)) return false
    return this.#fault(source, "invalid_format", `must be true or false, not ${shown(cell)}`)
  }

  /** A date such as `2026-11-01`, also of a time. */
  date(source: Source): string | undefined {
    const cell = this.text(source)
    if (cell === "") return undefined
    const date = /^\d{4}-\d\d-\d\d(?=$|[T ])/.exec(cell)?.[0]
    return date !== undefined && dayOf(date) !== undefined
      ? date
      : this.#fault(
          source,
          "invalid_format",
          `must be a date such as 2026-11-01, not ${shown(cell)}`,
        )
  }

  /** A time, ISO 8601 with a time zone, or a date, which is its beginning in UTC. */
  time(source: Source): string | undefined {
    const cell = this.text(source)
    if (cell === "") return undefined
    if (this.#times === "seconds" || this.#times === "milliseconds") {
      const at = this.number(source)
      if (at === undefined) return undefined
      const date = new Date(this.#times === "seconds" ? at * 1_000 : at)
      return Number.isNaN(date.getTime())
        ? this.#fault(source, "out_of_range", `is no time: ${shown(cell)}`)
        : date.toISOString()
    }
    if (/^\d{4}-\d\d-\d\d$/.test(cell) && dayOf(cell) !== undefined) return `${cell}T00:00:00Z`
    return cell
  }
}

/** The first object of a list that has the members of `where`; without `where`, the value itself. */
const firstWhere = (value: unknown, where: Exclude<Source, string>["where"]): unknown => {
  if (where === undefined) return value
  const has = (item: unknown) =>
    Object.entries(where).every(([name, wanted]) =>
      typeof item === "object" && item !== null && Object.hasOwn(item, name)
        ? (item as Record<string, unknown>)[name] === wanted
        : false,
    )
  return Array.isArray(value) ? value.find(has) : undefined
}

const shown = (cell: string): string =>
  JSON.stringify(cell.length > 40 ? `${cell.slice(0, 40)}…` : cell)

const withValues = (entries: ReadonlyArray<readonly [string, Cell]>) =>
  Object.fromEntries(entries.filter(([, value]) => value !== undefined))

const part = (name: string, entries: ReadonlyArray<readonly [string, Cell]>) => {
  const values = withValues(entries)
  return Object.keys(values).length === 0 ? {} : { [name]: values }
}

const openingFrom = (map: NonNullable<CsvMap["openings"]>, reader: Reader): unknown => {
  const { badges = {}, balances = {}, earned = {}, streaks = {}, userId } = map
  const amounts = (by: Readonly<Record<string, Source>>) =>
    Object.entries(by).map(([key, source]) => [key, reader.number(source)] as const)
  const had = Object.entries(streaks).map(([key, streak]) => {
    const current = streak.current === undefined ? 0 : (reader.number(streak.current) ?? 0)
    const best = streak.best === undefined ? current : (reader.number(streak.best) ?? current)
    const lastDay = streak.lastDay === undefined ? undefined : reader.date(streak.lastDay)
    const isNone = current === 0 && best === 0
    const day = current > 0 && lastDay !== undefined ? { lastDay } : undefined
    return [key, isNone ? undefined : { current, best: Math.max(best, current), ...day }] as const
  })
  const given = Object.entries(badges).flatMap(([name, source]) => {
    const earnedAt = reader.time(source)
    const [badge, tier] = name.split(".")
    return earnedAt === undefined ? [] : [{ badge, ...(tier !== undefined && { tier }), earnedAt }]
  })
  return {
    userId: reader.text(userId),
    ...part("balances", amounts(balances)),
    ...part("earned", amounts(earned)),
    ...part("streaks", had),
    ...(given.length > 0 && { badges: given }),
  }
}

const eventFrom = (
  map: NonNullable<CsvMap["events"]>,
  reader: Reader,
  idOf: (action: string) => string,
): unknown => {
  const { action, id, metadata = {}, occurredAt, userId } = map
  const name = isValue(action) ? action.value : reader.text(action)
  const members = Object.entries(metadata).map(([key, from]) => {
    const as = typeof from === "string" ? undefined : from.as
    if (as === "number") return [key, reader.number(from)] as const
    if (as === "boolean") return [key, reader.boolean(from)] as const
    return [key, reader.text(from) || undefined] as const
  })
  const at = reader.time(occurredAt)
  return {
    userId: reader.text(userId),
    action: name,
    id: id === undefined ? idOf(name) : reader.text(id),
    // The time of an import would be a wrong one.
    occurredAt: at ?? "",
    ...part("metadata", members),
  }
}

const decodeOpening = inputDecoder<Item>(BatchedOpening, strictInput)

/**
 * Makes items of rows, in order. An event without a column of ids gets one from the content of its
 * row, so that the same file can be sent again: the second row with the same content gets another
 * one. An opening needs none, but a user has only one.
 */
export class RowReader {
  readonly #map: CsvMap
  /** How often each content came, or the line of each user. */
  readonly #seen = new Map<string, number>()

  constructor(map: CsvMap) {
    this.#map = map
  }

  read(row: Row, line: number): Result.Result<Item, ReadonlyArray<Fault>> {
    const { events, openings, times } = this.#map
    const reader = new Reader(row, times)
    if (openings === undefined) {
      const value = eventFrom(events!, reader, (action) => this.#idOf(row, action))
      return this.#checked(reader, value, decodeEvent(value, "", limits.faultsMax))
    }
    const value = openingFrom(openings, reader)
    const decoded = this.#checked(reader, value, decodeOpening(value, "", limits.faultsMax))
    if (Result.isFailure(decoded)) return decoded
    const { userId } = decoded.success
    const before = this.#seen.get(userId)
    this.#seen.set(userId, before ?? line)
    if (before === undefined) return decoded
    const detail = `the user ${shown(userId)} is in line ${before} already`
    return Result.fail([
      { pointer: `column ${columnOf(openings.userId)}`, code: "duplicate", detail },
    ])
  }

  #checked(
    { faults }: Reader,
    value: unknown,
    decoded: Result.Result<unknown, ReadonlyArray<Fault>>,
  ): Result.Result<Item, ReadonlyArray<Fault>> {
    const others = Result.isFailure(decoded) ? decoded.failure : []
    const all = [...faults, ...others]
    return all.length > 0 ? Result.fail(all) : Result.succeed(value as Item)
  }

  #idOf(row: Row, action: string): string {
    const content = JSON.stringify([action, ...Object.values(row)])
    const hash = createHash("sha256").update(content).digest("base64url").slice(0, 24)
    const times = (this.#seen.get(hash) ?? 0) + 1
    this.#seen.set(hash, times)
    return times === 1 ? `csv-${hash}` : `csv-${hash}-${times}`
  }
}
