/** Parts that the groups of the contract share: checks, ids, times, pages, the API key, scopes. */
import { Context, type JsonSchema, Schema, SchemaIssue, SchemaTransformation } from "effect"
import { HttpApiMiddleware, HttpApiSchema, HttpApiSecurity, OpenApi } from "effect/http-api"
import { Tier, Times } from "../../domain/message/FactMembers.ts"
import type { CallerScope } from "../../domain/project/Directory.ts"
import { dayOf, isTimeZone } from "../../domain/values/Calendar.ts"
import { actionPattern, callerIdFault, characterCount } from "../../domain/values/Ids.ts"
import { isIsoTime } from "../../domain/values/isoTime.ts"
import { metadataFault } from "../../domain/values/Metadata.ts"
import { limits } from "../../Limits.ts"
import { isOfOtherVersion, type ListName, readCursor } from "./Cursor.ts"
import { exampleCursors } from "./examples/exampleIds.ts"
import { earnedBadge } from "./examples/userExamples.ts"

/*
 * The checks of requests. Each check has the code and the words of its fault, and its JSON Schema,
 * so that the decoder, the problem details and the reference have one source.
 */

/** The kinds of faults in a request: the values of `code` in a problem's `errors`. */
export const faultCodes = {
  missing: "A required member is missing.",
  unknown_member: "The operation does not define this member or parameter.",
  invalid_type: "The value has the wrong JSON type.",
  invalid_format: "The text does not have the required form.",
  invalid_value: "The value is not allowed.",
  out_of_range: "The number or time is outside its range.",
  too_short: "The text or list is too short.",
  too_long: "The text or list is too long.",
  too_large: "The value takes too many bytes.",
  too_deep: "The value is nested too deeply.",
  duplicate: "The parameter, header field or item's key occurs more than once.",
  unknown_reference: "The id or key names nothing, or an archived definition.",
  cycle: "The prerequisite depends on the quest itself, or the listed badge on the badge itself.",
} as const
export type FaultCode = keyof typeof faultCodes

/**
 * A check that fails with `code` and `message`. `jsonSchema` is its JSON Schema, which
 * `InputDecoder.ts` also reads.
 */
export const check = <T>(
  code: FaultCode,
  message: string,
  holds: (value: T) => boolean,
  jsonSchema: JsonSchema.JsonSchema = {},
) =>
  Schema.makeFilter<T>(holds, {
    faultCode: code,
    message,
    keywords: jsonSchema,
    toJsonSchema: () => [{ ...jsonSchema }, true],
  })

const wellFormed = check<string>("invalid_format", "must be well-formed Unicode", (text) =>
  text.isWellFormed(),
)

/** A check that a text of ASCII, such as a header field, has at most `max` characters. */
export const charactersMax = (max: number) =>
  check<string>("too_long", `must have at most ${max} characters`, (value) => value.length <= max, {
    maxLength: max,
  })

/** Text of `min` to `max` characters (code points). Only `multiple` lines may have line breaks. */
export const text = (min: number, max: number, lines: "single" | "multiple" = "single") => {
  const forbidden = lines === "single" ? controlCharacter : controlCharacterButLayout
  return Schema.String.check(
    check("too_short", "must not be empty", (value) => value.length >= min, { minLength: min }),
    check(
      "too_long",
      `must have at most ${max} characters`,
      (value) => value.length <= max || (value.length <= 2 * max && characterCount(value) <= max),
      { maxLength: max },
    ),
    check(
      "invalid_format",
      "must not contain control characters",
      (value) => !forbidden.test(value),
    ),
    wellFormed,
  )
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const controlCharacterButLayout = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/

/** Text that matches `pattern`. `form` describes the pattern in words. */
export const pattern = (pattern: RegExp, form: string) =>
  Schema.String.check(
    check("invalid_format", `must be ${form}`, (value) => pattern.test(value), {
      pattern: pattern.source,
    }),
  )

/** An integer from `minimum` to `maximum`. */
export const integer = (minimum: number, maximum: number) =>
  Schema.Int.check(
    check(
      "out_of_range",
      `must be from ${minimum} to ${maximum}`,
      (value) => value >= minimum && value <= maximum,
      { minimum, maximum },
    ),
  )

/** A number from `minimum` to `maximum`. */
export const number = (minimum: number, maximum: number) =>
  Schema.Finite.check(
    check(
      "out_of_range",
      `must be from ${minimum} to ${maximum}`,
      (value) => value >= minimum && value <= maximum,
      { minimum, maximum },
    ),
  )

/** One of `values`. */
export const oneOf = <const Values extends ReadonlyArray<string>>(values: Values) =>
  Schema.Literals(values)

/** A list of `min` to `max` items. */
export const list = <S extends Schema.Top>(item: S, min: number, max: number) =>
  Schema.Array(item).check(
    check("too_short", `must have at least ${min}`, (value) => value.length >= min, {
      minItems: min,
    }),
    check("too_long", `must have at most ${max}`, (value) => value.length <= max, {
      maxItems: max,
    }),
  )

/** A fault of the member at `path` of the checked value. */
export const faultAt = (path: ReadonlyArray<PropertyKey>, code: FaultCode, message: string) => ({
  path,
  issue: issue(code, message),
})

/**
 * A check that no two items of a list have the same key. The fault is at `path` of the later item.
 */
export const distinct = <Item>(path: ReadonlyArray<string>, keyOf: (item: Item) => unknown) =>
  Schema.makeFilter<ReadonlyArray<Item>>(
    (items) => {
      const seen = new Set<unknown>()
      return items.flatMap((item, index) => {
        const value = keyOf(item)
        if (seen.has(value)) {
          return [faultAt([index, ...path], "duplicate", "must occur only once")]
        }
        seen.add(value)
        return []
      })
    },
    { toJsonSchema: () => [{}, true] },
  )

/** An id chosen by the caller. */
export const callerId = Schema.String.check(
  Schema.makeFilter<string>(
    (value) => {
      const fault = callerIdFault(value)
      return fault === undefined || issue(idFaultCode(fault), fault)
    },
    { toJsonSchema: () => [{ minLength: 1, maxLength: limits.idCharactersMax }, true] },
  ),
)

/** The stable code of the fault from `callerIdFault`. */
export const idFaultCode = (fault: string): FaultCode =>
  fault.includes("empty") ? "too_short" : fault.includes("at most") ? "too_long" : "invalid_format"

/** The name of a time zone. */
export const timeZone = Schema.String.check(
  check("invalid_value", "must be an IANA time zone", isTimeZone),
).annotate({ description: "An IANA time zone.", examples: ["Europe/Berlin"] })

/** The caller's own data: an object with bounds on its bytes and depth. */
export const metadata = Schema.Record(Schema.String, Schema.Unknown).check(
  Schema.makeFilter<{ readonly [key: string]: unknown }>(
    (value) => {
      const fault = metadataFault(value)
      return fault === undefined || issue(fault.code, fault.detail)
    },
    { wholeFault: metadataFault, toJsonSchema: () => [{}, true] },
  ),
)

const issue = (code: FaultCode, message: string) =>
  new SchemaIssue.InvalidValue({ message, faultCode: code })

/**
 * The scopes that may call an endpoint besides `full`. Without this annotation, only `full` may.
 */
export class OpenTo extends Context.Service<OpenTo, ReadonlyArray<CallerScope>>()("http/OpenTo") {
  /** The scopes for what web pages and apps may read without a secret. */
  static readonly clients: ReadonlyArray<CallerScope> = ["read", "publishable", "user"]
}

/** The scopes that may call an endpoint, from the annotations of the endpoint. */
export const scopesOf = (annotations: Context.Context<never>): ReadonlyArray<CallerScope> => [
  "full",
  ...Context.getOrElse(annotations, OpenTo, () => []),
]

/** The decoded parts of a request. */
export interface RequestParts {
  // biome-ignore lint/suspicious/noExplicitAny: each endpoint has parts of its own
  readonly params: any
  // biome-ignore lint/suspicious/noExplicitAny: each endpoint has parts of its own
  readonly query: any
  // biome-ignore lint/suspicious/noExplicitAny: each endpoint has parts of its own
  readonly payload: any
}

/**
 * The user that a request names, if any. A user token may only name its own user, and a publishable
 * key none. An endpoint that is open to them and names users must have this annotation.
 */
export class UserNamed extends Context.Service<
  UserNamed,
  (request: RequestParts) => string | undefined
>()("http/UserNamed") {}

/** The maximum number of bytes of an endpoint's body. Default: `bodyBytesMax`. */
export class BodyBytesMax extends Context.Service<BodyBytesMax, number>()("http/BodyBytesMax") {}

/** Whether a POST without a body is refused like an empty object, and not for the missing body. */
export class NoBodyIsEmpty extends Context.Service<NoBodyIsEmpty, boolean>()(
  "http/NoBodyIsEmpty",
) {}

/** Declares that an endpoint needs an API key. */
export class ApiKey extends HttpApiMiddleware.Service<ApiKey>()("http/ApiKey", {
  security: {
    apiKey: HttpApiSecurity.bearer.pipe(
      HttpApiSecurity.annotate(
        OpenApi.Description,
        "A Laurel API key: `lk_test_…` for the sandbox, `lk_live_…` for production. Create one with `laurel keys create`. Web pages and apps use a publishable key (`lk_pub_test_…`, `lk_pub_live_…`), which only reads leaderboards, badges that are not secret, and active quests; a user token, which a server makes for one user (`POST /v1/users/{id}/tokens`), is sent in the same way. It may also be the user name of basic authentication (RFC 7617), with any password.",
      ),
    ),
  },
}) {}

/** Declares that requests are signed with a secret of the source that their path names. */
export class SourceSigned extends HttpApiMiddleware.Service<SourceSigned>()("http/SourceSigned") {}

export const UserId = callerId.annotate({
  description:
    "Your id of the user: 1 to 128 characters, any Unicode except control characters, compared byte by byte. The ids `.` and `..` are refused, since URLs cannot hold them.",
  examples: ["user-42"],
})

export const EventKey = callerId.annotate({
  description:
    "Your id of this event or reward. Repeating an id of the same user changes nothing and returns the first outcome. An id is free again once its user was erased, or once its record is older than the history that the server keeps (`LAUREL_HISTORY_DAYS`, by default all).",
  examples: ["lesson-7-user-42"],
})

export const Action = pattern(
  actionPattern,
  "1 to 64 capital letters, digits and underscores, beginning with a letter",
).annotate({ description: "Action of the user.", examples: ["LESSON_DONE"] })

/**
 * The name of a kind in names of schemas, which generated clients use as names of types: `XpEarned`
 * for `xp.earned`.
 */
export const typeName = (kind: string): string =>
  kind.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** A time in a request. */
export const TimeIn = Schema.String.check(
  check(
    "invalid_format",
    "must be a time in ISO 8601 with a zone, such as 2026-11-01T09:30:00Z",
    isIsoTime,
    { format: "date-time" },
  ),
).annotate({ description: "ISO 8601 with a zone.", examples: ["2026-11-01T09:30:00.000Z"] })

/** A date in a request. */
export const DateText = Schema.String.check(
  check("invalid_format", "must be a date such as 2026-11-01", (text) => dayOf(text) !== undefined),
)

/** A date in a reply. */
export const date = (description: string, example: string) =>
  Schema.String.annotate({ description, format: "date", examples: [example] })

/** A time in a reply. */
export const Time = Schema.String.annotate({
  description: "ISO 8601, UTC, with milliseconds.",
  format: "date-time",
  examples: ["2026-11-01T09:30:00.000Z"],
})

/** The members of a definition or a webhook that describe its changes. */
export const versionFields = {
  version: Schema.Int.annotate({
    description: "1 at creation, and one more with each change.",
    examples: [1],
  }),
  createdAt: Time,
  updatedAt: Time,
}

export const Xp = Schema.Int.annotate({ description: "Experience points.", examples: [1250] })
export const Level = Schema.Int.annotate({
  description: "The level that the xp reach; the lowest is 1.",
  examples: [5],
})

export const BadgeId = Schema.String.annotate({
  description: "The badge's id.",
  examples: ["bdg_01a1fc1e64c07345932e273286b5ca30"],
})
export const BadgeKey = Schema.String.annotate({
  description: "The badge's key.",
  examples: ["first-lesson"],
})
export const BadgeName = Schema.String.annotate({
  description: "The badge's name.",
  examples: ["First lesson"],
})
export const QuestId = Schema.String.annotate({
  description: "The quest's id.",
  examples: ["qst_01a1fc1e64c07345932e273286b5ca30"],
})
export const QuestKey = Schema.String.annotate({
  description: "The quest's key.",
  examples: ["first-steps"],
})
export const QuestTitle = Schema.String.annotate({
  description: "The quest's title.",
  examples: ["First steps"],
})

export const EarnedBadge = Schema.Struct({
  id: BadgeId,
  key: BadgeKey,
  name: BadgeName,
  tier: Schema.optionalKey(Tier),
  times: Schema.optionalKey(Times),
  earnedAt: Time,
}).annotate({
  identifier: "EarnedBadge",
  description: "A badge that a user earned, or a tier of it.",
  examples: [earnedBadge],
})

const digits = Schema.String.check(
  check("invalid_type", "must be a whole number", (value) => /^\d{1,16}$/.test(value)),
)
export const wholeNumber = (minimum: number, maximum: number) =>
  digits.pipe(
    Schema.decodeTo(
      integer(minimum, maximum),
      SchemaTransformation.transform({ decode: Number, encode: String }),
    ),
  )

/** The body of a PATCH, a JSON merge patch (RFC 7396). */
export const mergePatch = <S extends Schema.Top>(change: S) => [
  change.pipe(HttpApiSchema.asJson({ contentType: "application/merge-patch+json" })),
  change,
]

/** The maximum number of items on a page. */
export const limitQuery = Schema.optionalKey(wholeNumber(1, limits.pageMax))

/* Lists. A list has pages, each with a cursor to the next one (`Cursor.ts`). */

/** The parameter `cursor` of a list. The handler checks the environment and the filters. */
export const cursorQuery = (list: ListName) =>
  Schema.optionalKey(
    Schema.String.check(
      charactersMax(limits.cursorCharactersMax),
      check(
        "invalid_value",
        "is the cursor of another version of Laurel: begin again with the first page",
        (cursor) => !isOfOtherVersion(cursor),
      ),
      check(
        "invalid_format",
        "must be the `nextCursor` of an earlier page, unchanged",
        (cursor) => readCursor(cursor) !== undefined,
      ),
      check(
        "invalid_value",
        `is the cursor of another list, not of ${list}`,
        (cursor) => readCursor(cursor)?.list === list,
      ),
    ).annotate({
      description:
        "The `nextCursor` of the page before, with the same filters; absent: the first page.",
      examples: [exampleCursors[list]],
    }),
  )

/** The parameters of a page of a list. */
export const pageQuery = (list: ListName) => ({ limit: limitQuery, cursor: cursorQuery(list) })

/** The members that say where the next page of a list begins. */
export const pageEndFields = (list: ListName) => ({
  hasMore: Schema.Boolean.annotate({
    description: "Whether another page follows. Only the last page may be empty.",
    examples: [true],
  }),
  nextCursor: Schema.NullOr(Schema.String).annotate({
    description: "The `cursor` of the next page; null: no more.",
    examples: [exampleCursors[list]],
  }),
})

/** The members of a list that describe its page. */
export const pageFields = (list: ListName) => ({
  total: Schema.Int.annotate({ description: "Number of items on all pages.", examples: [1] }),
  ...pageEndFields(list),
})

export const idempotencyHeaders = {
  "idempotency-key": Schema.optionalKey(
    pattern(
      new RegExp(`^[\\x20-\\x7e]{1,${limits.idempotencyKeyCharactersMax}}$`),
      `1 to ${limits.idempotencyKeyCharactersMax} printable ASCII characters`,
    ).annotate({
      description:
        "For 24 hours, repeating the request with the same key returns the first reply (`Idempotency-Replayed: true`) and changes nothing. Use a new key, such as a UUID, for every other request.",
    }),
  ),
}

/** Members of replies with numbers that are counted in the background. */
export const counted = (what: string) => ({
  countedAt: Schema.NullOr(Time).annotate({
    description: `When ${what} were counted. Later changes are in no number of users. Null: they are being counted for the first time, which takes more than ${limits.countWaitMs / 1_000} seconds, and the numbers of users are null; a table with \`format=csv\` waits instead.`,
  }),
  counting: Schema.Boolean.annotate({
    description: "Whether they are being counted again: read again soon for newer numbers.",
    examples: [false],
  }),
})
