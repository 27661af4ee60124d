/** Shared by the groups of the contract: ids, times, pages, the API key, scopes. */
import { Context, Schema, SchemaTransformation } from "effect"
import { HttpApiMiddleware, HttpApiSchema, HttpApiSecurity, OpenApi } from "effect/http-api"
import type { CallerScope } from "../../domain/project/Directory.ts"
import { actionPattern } from "../../domain/values/Ids.ts"
import { isIsoTime } from "../../domain/values/isoTime.ts"
import { limits } from "../../Limits.ts"
import { callerId, check, integer, pattern } from "./Checks.ts"
import { earned, earnedBadge, sameLevel } from "./examples/Events.ts"

/** The scopes that open an endpoint besides `full`; an endpoint without this annotation needs `full`. */
export class OpenTo extends Context.Service<OpenTo, ReadonlyArray<CallerScope>>()("http/OpenTo") {
  /** Those of what web pages and apps may read without a secret. */
  static readonly clients: ReadonlyArray<CallerScope> = ["read", "publishable", "user"]
}

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
 * The user that a request names, if it does. A user token may name its own user alone, a publishable key none. An endpoint that
 * is open to them and names users must have it.
 */
export class UserNamed extends Context.Service<
  UserNamed,
  (request: RequestParts) => string | undefined
>()("http/UserNamed") {}

/** The maximum bytes of the body of an endpoint; `bodyBytesMax` by default. */
export class BodyBytesMax extends Context.Service<BodyBytesMax, number>()("http/BodyBytesMax") {}

/** Whether a POST without a body gets the faults of an empty object, instead of one for the missing body. */
export class NoBodyIsEmpty extends Context.Service<NoBodyIsEmpty, boolean>()(
  "http/NoBodyIsEmpty",
) {}

/** Declares that an endpoint is called with an API key. */
export class ApiKey extends HttpApiMiddleware.Service<ApiKey>()("http/ApiKey", {
  security: {
    apiKey: HttpApiSecurity.bearer.pipe(
      HttpApiSecurity.annotate(
        OpenApi.Description,
        "A Laurel API key: `lk_test_…` for the sandbox, `lk_live_…` for production. Create one with `laurel keys create`. Web pages and apps use a publishable key (`lk_pub_test_…`, `lk_pub_live_…`), which only reads leaderboards, badges that are not secret, and active quests; a user token, which a server makes for one user (`POST /v1/users/{id}/tokens`), is sent in the same way.",
      ),
    ),
  },
}) {}

export const UserId = callerId.annotate({
  description:
    "Your id of the user: 1 to 128 characters, any Unicode except control characters, compared byte by byte. The ids `.` and `..` are refused, since URLs cannot hold them.",
  examples: ["user-42"],
})

export const EventKey = callerId.annotate({
  description:
    "Your id of this event or reward. Repeating an id of the same user changes nothing and returns the first outcome.",
  examples: ["lesson-7-user-42"],
})

export const Action = pattern(
  actionPattern,
  "1 to 64 capital letters, digits and underscores, beginning with a letter",
).annotate({ description: "Action of the user.", examples: ["LESSON_DONE"] })

/** The name that a kind has in names of schemas, which clients take for their types: `XpEarned` for `xp.earned`. */
export const typeName = (kind: string): string =>
  kind.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** A time as callers send it. */
export const TimeIn = Schema.String.check(
  check(
    "invalid_format",
    "must be a time in ISO 8601 with a zone, such as 2026-11-01T09:30:00Z",
    isIsoTime,
    { format: "date-time" },
  ),
).annotate({ description: "ISO 8601 with a zone.", examples: ["2026-11-01T09:30:00.000Z"] })

/** A time as Laurel shows it. */
export const Time = Schema.String.annotate({
  description: "ISO 8601, UTC, with milliseconds.",
  format: "date-time",
  examples: ["2026-11-01T09:30:00.000Z"],
})

export const Xp = Schema.Int.annotate({ description: "Experience points.", examples: [1250] })
export const Level = Schema.Int.annotate({
  description: "The level that the xp reach; the lowest is 1.",
  examples: [5],
})

export const Earned = Schema.Struct({
  earned: Schema.Int.annotate({ description: "Amount earned by this request.", examples: [50] }),
  total: Schema.Int.annotate({ description: "Balance after this request.", examples: [1250] }),
}).annotate({
  identifier: "Earned",
  description: "A balance and its gain.",
  examples: [earned],
})

export const LevelChange = Schema.Struct({ before: Level, after: Level }).annotate({
  identifier: "LevelChange",
  description: "The level before and after.",
  examples: [sameLevel],
})

export const BadgeId = Schema.String.annotate({
  description: "The badge's id.",
  examples: ["bdg_01a1fc1e64c07345932e273286b5ca30"],
})
export const BadgeName = Schema.String.annotate({
  description: "The badge's name.",
  examples: ["First lesson"],
})
export const QuestId = Schema.String.annotate({
  description: "The quest's id.",
  examples: ["qst_01a1fc1e64c07345932e273286b5ca30"],
})
export const QuestTitle = Schema.String.annotate({
  description: "The quest's title.",
  examples: ["First steps"],
})

export const EarnedBadge = Schema.Struct({
  id: BadgeId,
  name: BadgeName,
  earnedAt: Time,
}).annotate({
  identifier: "EarnedBadge",
  description: "A badge that a user earned.",
  examples: [earnedBadge],
})

const digits = Schema.String.check(
  check("invalid_type", "must be a whole number", (value) => /^\d{1,16}$/.test(value)),
)
const wholeNumber = (minimum: number, maximum: number) =>
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

/** The page of a list. */
export const pageQuery = {
  limit: limitQuery,
  offset: Schema.optionalKey(wholeNumber(0, Number.MAX_SAFE_INTEGER)),
}

/** The members of every list that describe its page. */
export const pageFields = {
  total: Schema.Int.annotate({ description: "Number of items on all pages.", examples: [1] }),
  limit: Schema.Int.annotate({
    description: "Maximum number of items on this page.",
    examples: [20],
  }),
  offset: Schema.Int.annotate({ description: "Number of items before this page.", examples: [0] }),
  hasMore: Schema.Boolean.annotate({
    description: "Whether more items follow this page.",
    examples: [false],
  }),
}

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
