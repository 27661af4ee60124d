/**
 * The format of an export: NDJSON, to move data between machines and versions. Format 3:
 *
 *     {"kind":"header","format":3,"laurel":"1.0.0","createdAt":"…","scope":null,"watermark":40,"first":1,"sequence":42}
 *     {"kind":"entry","table":"users","key":["prj_1:sandbox","ada"],"user":{…}}
 *     {"kind":"record","record":{"sequence":1,…}}
 *     {"kind":"gap","through":7}
 *     {"kind":"end","lines":4,"sha256":"…"}
 *
 * - `header`: `scope` is null for everything, else `{"project","environment"}`; the entries are
 *   complete up to the record `watermark`, and the records are those from `first` to `sequence`.
 * - `entry`: one of the snapshot's tables (`src/README.md`), in the order of tables and keys. The
 *   value is, by table, a `user` (maps as pairs, `due` as in `UserCodec`; in place of buckets,
 *   names and ids), callers' `ids` (pairs of a hash and a sequence, `engine/dedupe/IdRun.ts`), else
 *   `json`; a value that these forms would lose is `base64`.
 * - `record`: a record of the journal, in order. `gap`: the next records, up to `through`, are not
 *   in the export: they were erased, or belong to others. `previous`: the record `through` was
 *   erased after the export began, and its user has this record before it. `remains`: the sale, the
 *   contributions to goals and the scores of teams that it had, which stay.
 * - `end`: the number of lines before it, and the SHA-256 of their bytes; remove `sha256` after an
 *   edit by hand to skip the comparison.
 *
 * An import gives the data directory that a start brings to the state of the last record. It reads
 * this format alone.
 */
import { Result, Schema, SchemaIssue } from "effect"
import type { UserState } from "../../../domain/user/User.ts"
import { asBuffer, compositeKey } from "../../../storage/Keys.ts"
import { jsonOf } from "../../../storage/SealedValue.ts"
import { tables } from "../../../storage/Storage.ts"
import { idPairs, idsBody, isRunHead } from "../../dedupe/IdRun.ts"
import { Names } from "../../records/Names.ts"
import { decodeUser, encodeUser } from "../../records/UserCodec.ts"

export const exportFormat = 73

/** The tables in the order of an export. Users are one by one, in place of buckets. */
export const exportedTables = tables
  .filter((table) => table !== "userIds" && table !== "teamMembers")
  .map((table) => (table === "buckets" ? "users" : table))

const sequence = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const positive = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))
const hash = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff_ffff }))
const kinds = Schema.Struct({ kind: Schema.String })

const Header = Schema.Struct({
  kind: Schema.Literal("header"),
  format: Schema.Literal(exportFormat),
  laurel: Schema.String,
  createdAt: Schema.String,
  scope: Schema.NullOr(Schema.Struct({ project: Schema.String, environment: Schema.String })),
  watermark: sequence,
  first: positive,
  sequence,
})
export type Header = typeof Header.Type

const subject = Schema.Union([
  Schema.Struct({
    actor: Schema.Literal("user"),
    environment: Schema.String,
    userId: Schema.String,
  }),
  Schema.Struct({ actor: Schema.Literal("project"), environment: Schema.String }),
  Schema.Struct({ actor: Schema.Literal("directory") }),
])

/** The members of all records; `Verification` checks causes and facts by their effect. */
const Record = Schema.Struct({
  sequence: positive,
  at: Schema.Int,
  subject,
  cause: kinds,
  facts: Schema.Array(kinds),
  kept: Schema.optionalKey(Schema.Struct({ key: Schema.String, fingerprint: Schema.String })),
})

const Entry = Schema.Struct({
  kind: Schema.Literal("entry"),
  table: Schema.Literals(exportedTables),
  key: Schema.NonEmptyArray(Schema.Union([Schema.String, Schema.Int])),
  user: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  ids: Schema.optionalKey(Schema.Array(Schema.Tuple([hash, positive]))),
  json: Schema.optionalKey(Schema.Unknown),
  base64: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^[A-Za-z0-9+/]*={0,2}$/, { message: "is no base64" })),
  ),
})
export type Entry = typeof Entry.Type
export type ExportedTable = Entry["table"]

const RecordLine = Schema.Struct({ kind: Schema.Literal("record"), record: Record })

const Gap = Schema.Struct({
  kind: Schema.Literal("gap"),
  through: positive,
  previous: Schema.optionalKey(positive),
  remains: Schema.optionalKey(
    Schema.Struct({
      environment: Schema.String,
      sold: Schema.optionalKey(Schema.Tuple([Schema.String, Schema.Literals([1, -1])])),
      goals: Schema.optionalKey(Schema.Struct({ at: Schema.Int, facts: Schema.Array(kinds) })),
      teams: Schema.optionalKey(Schema.Array(kinds)),
    }),
  ),
})

export type Gap = typeof Gap.Type

const End = Schema.Struct({
  kind: Schema.Literal("end"),
  lines: sequence,
  sha256: Schema.optionalKey(Schema.String),
})
export type End = typeof End.Type

export type Line = Header | Entry | typeof RecordLine.Type | Gap | End

const decoderOf = <A>(schema: Schema.ConstraintDecoder<A>) =>
  Schema.decodeUnknownResult(schema, { errors: "all" })
const decoders: Record<string, (value: unknown) => Result.Result<Line, Schema.SchemaError>> = {
  header: decoderOf(Header),
  entry: decoderOf(Entry),
  record: decoderOf(RecordLine),
  gap: decoderOf(Gap),
  end: decoderOf(End),
}

const issuesOf = SchemaIssue.makeFormatterStandardSchemaV1()

/** The decoded line, or all its faults. */
export const decodeLine = (text: string): Result.Result<Line, ReadonlyArray<string>> => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return Result.fail(["it is no JSON"])
  }
  const { format, kind } = (value ?? {}) as { readonly format?: unknown; readonly kind?: unknown }
  if (kind === "header" && typeof format === "number" && format !== exportFormat) {
    return Result.fail([
      `it has format ${format}, and this version of Laurel reads exports of format ${exportFormat} alone. ` +
        "Import it with the version that wrote it, or export again with one that writes that format",
    ])
  }
  const decode = typeof kind === "string" && Object.hasOwn(decoders, kind) && decoders[kind]
  if (!decode) return Result.fail(["its kind is not header, entry, record, gap or end"])
  const decoded = decode(value)
  // The decoded form lacks members that the schema does not know, which causes and facts have.
  if (Result.isSuccess(decoded)) return Result.succeed(value as Line)
  return Result.fail(
    issuesOf(decoded.failure.issue).issues.map(({ message, path = [] }) => {
      const where = path.map((part) => (typeof part === "object" ? part.key : part)).join(".")
      return `${where === "" ? "it" : where}: ${message}`
    }),
  )
}

/** The members of a user's state that are maps. */
const userMaps = [
  "balances",
  "earnings",
  "pending",
  "expiring",
  "badges",
  "badgesPaid",
  "levelsPaid",
  "badgeCounts",
  "badgeRecounts",
  "quests",
  "streaks",
  "streakCounts",
  "ruleUses",
  "rulesReached",
  "metrics",
  "boards",
  "experiments",
  "teams",
  "leagues",
  "purchases",
  "reminded",
  "goals",
] as const satisfies ReadonlyArray<keyof UserState>

/** A user in the form of an entry. */
export const userForm = (user: UserState, due: number): Record<string, unknown> => {
  const members = Object.entries(user).map(([name, value]) => [
    name,
    value instanceof Map ? [...value] : value,
  ])
  return { due, ...Object.fromEntries(members) }
}

/** The state and due second of an entry's user, or the fault. */
export const userOf = (
  form: Record<string, unknown>,
): Result.Result<{ readonly user: UserState; readonly due: number }, string> => {
  try {
    const { due, ...members } = JSON.parse(JSON.stringify(form))
    for (const name of userMaps) members[name] = new Map(members[name])
    const names = new Names()
    const user: UserState = decodeUser(members.id, encodeUser(members, due, names), names)
    return Result.succeed({ user, due })
  } catch {
    return Result.fail("its value is not that of its table")
  }
}

type Value = Pick<Entry, "ids" | "json" | "base64">

/** The body of an entry in the form of its table, or as base64 if that would lose anything. */
export const valueForm = (table: ExportedTable, body: Uint8Array): Value => {
  const asIs = { base64: asBuffer(body).toString("base64") }
  try {
    const value = readable(table, body)
    return Buffer.compare(bodyOf(table, value), body) === 0 ? value : asIs
  } catch {
    return asIs
  }
}

const readable = (table: ExportedTable, body: Uint8Array): Value => {
  switch (table) {
    case "eventIds":
      if (isRunHead(body)) return { json: jsonOf(body) }
      return { ids: idPairs(body) }
    default:
      return { json: jsonOf(body) }
  }
}

/** The body of `value`. Throws if it has none, or not the form of its table. */
export const bodyOf = (table: ExportedTable, value: Value): Uint8Array => {
  const { base64, ids, json } = value
  if (base64 !== undefined) return Buffer.from(base64, "base64")
  if (table === "eventIds" && ids !== undefined) return idsBody(ids)
  if (json !== undefined) return Buffer.from(JSON.stringify(json))
  throw new RangeError("its value is not that of its table")
}

/** The key and body of an entry, or their fault. */
export const entryOf = (
  entry: Entry,
): Result.Result<{ readonly key: Uint8Array; readonly body: Uint8Array }, string> => {
  try {
    return Result.succeed({ key: compositeKey(...entry.key), body: bodyOf(entry.table, entry) })
  } catch (error) {
    return Result.fail(error instanceof Error ? error.message : String(error))
  }
}
