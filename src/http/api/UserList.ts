/** The parameters of the list of users. */
import { Schema, SchemaTransformation } from "effect"
import { limits } from "../../Limits.ts"
import {
  callerId,
  charactersMax,
  check,
  distinct,
  list,
  oneOf,
  pageQuery,
  TimeIn,
  text,
  wholeNumber,
} from "./Common.ts"

/** The ids in a parameter: joined by commas, each percent-encoded. */
const idsIn = (text: string): ReadonlyArray<string> => text.split(",").map(decodeURIComponent)

const isEncoded = (text: string): boolean => {
  try {
    return idsIn(text).length > 0
  } catch {
    return false
  }
}

const idsQuery = Schema.String.check(
  check("invalid_format", "must be percent-encoded ids, joined by commas", isEncoded),
)
  .annotate({
    description: `Only the users with these ids: 1 to ${limits.usersNamedMax}, joined by commas. Percent-encode each id before you join them, so that an id may have a comma (\`%2C\`) or a percent sign (\`%25\`); then encode the whole like any parameter. Not together with other parameters.`,
    examples: ["user-42,user-43"],
  })
  .pipe(
    Schema.decodeTo(
      list(callerId, 1, limits.usersNamedMax).check(distinct([], (id: string) => id)),
      SchemaTransformation.transform({
        decode: idsIn,
        encode: (ids: ReadonlyArray<string>) => ids.map(encodeURIComponent).join(","),
      }),
    ),
  )

/** The name of an attribute and its value: percent-encoded, with a colon in between. */
export const attributeIn = (text: string): { readonly name: string; readonly value: string } => {
  const colon = text.indexOf(":")
  return {
    name: decodeURIComponent(text.slice(0, colon)),
    value: decodeURIComponent(text.slice(colon + 1)),
  }
}

const isAttribute = (text: string): boolean => {
  try {
    attributeIn(text)
    return text.includes(":")
  } catch {
    return false
  }
}

/** A name, a colon and a value. Percent-encoding turns a character into at most 12. */
const attributeCharactersMax =
  12 * (limits.attributeNameCharactersMax + limits.attributeTextCharactersMax) + 1

const attributeQuery = Schema.String.check(
  charactersMax(attributeCharactersMax),
  check("invalid_format", "must be a name, a colon and a value, percent-encoded", isAttribute),
).annotate({
  description:
    "Only users whose attribute has this value: the name, a colon and the value. A number or a boolean is compared as text, such as `seats:5` or `beta:true`. Percent-encode a colon in the name (`%3A`) and percent signs (`%25`); then encode the whole like any parameter.",
  examples: ["plan:pro"],
})

export const userSorts = ["id", "xp", "lastEventAt", "createdAt"] as const

const level = (description: string, example: number) =>
  Schema.optionalKey(
    Schema.String.annotate({ description, examples: [String(example)] }).pipe(
      Schema.decodeTo(wholeNumber(1, Number.MAX_SAFE_INTEGER)),
    ),
  )

export const userListQuery = {
  ...pageQuery("users"),
  ids: Schema.optionalKey(idsQuery),
  segment: Schema.optionalKey(
    text(1, limits.idCharactersMax).annotate({
      description: "Only users in the segment with this key or id.",
      examples: ["active-learners"],
    }),
  ),
  query: Schema.optionalKey(
    text(1, limits.searchCharactersMax).annotate({
      description: "Only users with this text in their id or display name, ignoring case.",
      examples: ["ada"],
    }),
  ),
  badge: Schema.optionalKey(
    text(1, limits.idCharactersMax).annotate({
      description: "Only users who have the badge with this key or id, or a tier of it.",
      examples: ["first-lesson"],
    }),
  ),
  attribute: Schema.optionalKey(attributeQuery),
  levelMin: level("Only users of this level or a higher one.", 5),
  levelMax: level("Only users of this level or a lower one.", 9),
  activeSince: Schema.optionalKey(
    TimeIn.annotate({
      description: "Only users with an event that occurred at this time or later.",
      examples: ["2026-10-01T00:00:00Z"],
    }),
  ),
  sort: Schema.optionalKey(
    oneOf(userSorts).annotate({
      description:
        "The order. `id`: by code points. `lastEventAt`: users without an event are as of 1970. Users with the same value are in the order of their ids. Default `id`.",
      examples: ["xp"],
    }),
  ),
  order: Schema.optionalKey(
    oneOf(["asc", "desc"]).annotate({
      description:
        "`desc`: the largest or latest first, `asc`: the smallest or earliest first. Default `desc`; `id` knows only `asc`.",
      examples: ["desc"],
    }),
  ),
  format: Schema.optionalKey(
    oneOf(["json", "csv"]).annotate({
      description:
        "`csv`: the reply is a table, `text/csv`, of all users that match, without `limit`, `cursor` and `ids`; the JavaScript client reads only JSON. Default `json`.",
      examples: ["json"],
    }),
  ),
}

export const UserListQuery = Schema.Struct(userListQuery)
