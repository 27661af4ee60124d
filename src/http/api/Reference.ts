/**
 * Completes the OpenAPI document with parts that the schemas do not have: introduction, header
 * fields, numbers in queries.
 */
import { HttpApi, type HttpApiGroup } from "effect/http-api"
import type { CallerScope } from "../../domain/project/Directory.ts"
import { type ErrorCode, errorKinds } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { ApiKey, faultCodes, scopesOf } from "./Common.ts"
import { ruleId } from "./examples/exampleIds.ts"
import { messageAlternatives, webhookParameters, webhookRequests } from "./Stream.ts"

const errorTable = (Object.keys(errorKinds) as Array<ErrorCode>)
  .map((code) => `| \`${code}\` | ${errorKinds[code].status} | ${errorKinds[code].title} |`)
  .join("\n")

const faultTable = Object.entries(faultCodes)
  .map(([code, meaning]) => `| \`${code}\` | ${meaning} |`)
  .join("\n")

export const introduction = `Gamification from events: xp, levels, badges, quests and leaderboards.

All operations are available under \`/v1\` and \`/api/v1\`. The API key selects the project and environment.

**Web pages and apps** keep no secret. A publishable key (\`lk_pub_…\`) reads leaderboards, active quests, and badges that are not secret; it names no user. Leaderboards have ids and display names: choose ids that everybody may see, or hide users (\`hidden\`). A user token, which your server makes with a secret key by \`POST /v1/users/{id}/tokens\`, reads one user as well, and sends events of that user with the actions that the project's setting \`clientActions\` lists. With the scope \`purchases\` it buys items, too. Anything else is 403 \`insufficient_scope\`. Keys and tokens stand in \`Authorization\`, never in an address.

**Durable.** A 2xx reply to a write means that the write is on disk. Without a reply the outcome is unknown: repeat the request with the same \`id\` or \`Idempotency-Key\`. The writes of one user are applied in the order accepted.

**Edits.** Each definition has a \`version\`, which is the \`ETag\` of replies that show it. A change with \`If-Match\` is made only if the present version is one of those named; otherwise the reply is 412 \`version_conflict\`, and nothing changes. So of two people who edit one definition at the same time, the second learns of the first. The tag is that of the definition: what others count about it, and a status that follows the clock, may differ under one tag.

**Strict.** Unknown members and parameters are refused, and the reply lists all faults. If a JSON object repeats a member, the last one counts. Ids are compared without normalisation.

**Bounded.** Bodies have at most ${limits.bodyBytesMax} bytes (batches ${limits.batchBodyBytesMax}); \`Content-Encoding\` is not supported. \`HEAD\` answers as \`GET\` does, without the body.

**Rate limits** count requests per minute for each project and environment; \`RateLimit\` and \`X-RateLimit-*\` have the rest. A batch of n events counts as n requests, or as one per ${limits.rateLimitUnitBytes} bytes of its body where that is more; a refused batch counts by its body, or as one. A batch that counts as more than the limit is refused with 413: no wait lets it pass. Replies to keys without a limit have no such headers. Web pages and apps have a limit apart from that of secret keys, and each user token's user one of ${limits.userRequestsPerMinute} requests.

**Lists** have pages of \`limit\` items (at most ${limits.pageMax}). \`nextCursor\` of a page is the \`cursor\` of the next one, with the same filters; null on the last page, the only one that may be empty. Items that others add meanwhile neither repeat an item nor leave one out. A cursor has no end of validity. Only the leaderboard pages by \`offset\`.

## Errors

Errors are \`application/problem+json\` (RFC 9457) with these codes:

| code | status | meaning |
|---|---|---|
${errorTable}

Each of a problem's \`errors\` has one of these codes:

| code | meaning |
|---|---|
${faultTable}
`

const integerHeader = (description: string, example: number) => ({
  description,
  schema: { type: "integer" },
  example,
})
const textHeader = (description: string, example: string) => ({
  description,
  schema: { type: "string" },
  example,
})

const headers = {
  "X-Request-Id": textHeader(
    "The request's id, also in the log: yours, if you sent 1 to 128 visible ASCII characters.",
    "req_01a1fc1e64c07345932e273286b5ca30",
  ),
  "Laurel-Version": textHeader("The version of Laurel that answered.", "1.0.0"),
  "RateLimit-Policy": textHeader(
    "Requests per window, and the window's seconds.",
    '"free";q=100;w=60',
  ),
  RateLimit: textHeader(
    "Remaining requests, and seconds until the window ends.",
    '"free";r=99;t=60',
  ),
  "X-RateLimit-Limit": integerHeader("Requests per minute.", 100),
  "X-RateLimit-Remaining": integerHeader("Remaining requests.", 99),
  "X-RateLimit-Reset": integerHeader("Seconds until the window ends.", 60),
  "Retry-After": integerHeader("Seconds to wait before a retry.", 5),
  Location: textHeader("Path of the created resource.", `/v1/rules/${ruleId}`),
  ETag: textHeader("The version that the reply shows, for `If-Match` and `If-None-Match`.", '"3"'),
  "Idempotency-Replayed": textHeader(
    "`true`: the reply of an earlier request with the same key.",
    "true",
  ),
  "Preference-Applied": textHeader(
    "The preference that the reply follows (RFC 7240).",
    "return=minimal",
  ),
  "WWW-Authenticate": textHeader("Authentication scheme.", "Bearer"),
  "Laurel-Erased-By": {
    description: "Time by which the journal and the archives no longer hold the user.",
    schema: { type: "string", format: "date-time" },
    example: "2026-12-01T00:00:00.000Z",
  },
}

type HeaderName = keyof typeof headers

const rateHeaders: ReadonlyArray<HeaderName> = [
  "RateLimit-Policy",
  "RateLimit",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
]

const replayable: ReadonlySet<number> = new Set([200, 201, 202, 204, 400, 404, 409, 412])

/**
 * The header fields of a reply. `keyed`: the operation needs an API key. `kept`: it takes an
 * Idempotency-Key.
 */
const headerNames = (status: number, keyed: boolean, kept: boolean): Array<HeaderName> => {
  const names: Array<HeaderName> = ["X-Request-Id", "Laurel-Version"]
  if (keyed && status !== 401) names.push(...rateHeaders)
  if (status === 401) names.push("WWW-Authenticate")
  if (status === 429 || status === 503) names.push("Retry-After")
  if (status === 201 || status === 202) names.push("Location")
  if (kept && replayable.has(status)) names.push("Idempotency-Replayed")
  return names
}

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document is JSON
type Json = any

/** The reply of an operation that a request may ask for as a table, with `format=csv`. */
const csvTable = (): Json => ({
  schema: {
    type: "string",
    description: "The same as a table with a head line.",
    examples: ["from,to,users\r\n2026-11-01,2026-11-01,40\r\n"],
  },
})

/** Adds the headers, types the numbers in queries, and removes what the reader does not need. */
export const completeReference = (document: Record<string, Json>): Record<string, Json> => {
  simplify(document)
  mergeTwins(document)
  document.info.license = { name: "MIT", identifier: "MIT" }
  document.info.contact = { name: "The operator of this server" }
  // Streams show the message itself as the schema of their events.
  delete document.components.schemas.MessageEncoded
  const { anyOf: _, ...message } = document.components.schemas.Message ?? {}
  document.components.schemas.Message = { ...message, ...messageAlternatives }
  document.components.parameters = webhookParameters
  document.webhooks = webhookRequests()
  document.components.headers = headers
  document.components.schemas = Object.fromEntries(
    Object.entries(document.components.schemas).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
  // Any case is valid, but the reference page treats any other word than `bearer` as a password.
  document.components.securitySchemes.apiKey.scheme = "bearer"
  for (const [name, path] of Object.entries<Json>(document.paths)) {
    for (const [method, operation] of Object.entries<Json>(path)) {
      for (const parameter of operation.parameters) {
        if (parameter.in === "query") {
          parameter.schema =
            ownParameters[`${name} ${parameter.name}`] ??
            pageParameters[parameter.name] ??
            parameter.schema
        }
        const { description, ...schema } = parameter.schema
        if (description !== undefined) Object.assign(parameter, { description, schema })
      }
      if (method === "post" && mayBeLeftOut(operation.requestBody, document)) {
        operation.requestBody.required = false
      }
      const takes = (field: string) => operation.parameters.some(({ name }: Json) => name === field)
      if (takes("if-none-match")) operation.responses["304"] = notModified()
      if (takes("format")) operation.responses["200"].content["text/csv"] = csvTable()
      for (const [status, response] of Object.entries<Json>(operation.responses)) {
        const kept = takes("idempotency-key")
        const names = headerNames(Number(status), operation.security.length > 0, kept)
        if (status === "200" && takes("prefer")) names.push("Preference-Applied")
        if (status === "304" || (status < "300" && showsVersion(response, document))) {
          names.push("ETag")
        }
        if (operation.operationId === "users.erase" && status === "204") {
          names.push("Laurel-Erased-By")
        }
        if (response.content?.["text/event-stream"] !== undefined) {
          response.description =
            "Messages as they come. Of each event, `data` is the message as JSON, `id` its id and `event` its kind."
          // OpenAPI 3.1 has no form for events; clients made from the document take the schema as
          // that of their data.
          response.content["text/event-stream"] = {
            schema: { $ref: "#/components/schemas/Message" },
          }
        }
        response.headers = Object.fromEntries(
          names.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
        )
      }
    }
  }
  return document
}

/**
 * States the scopes of each operation, from the declaration that the pipeline enforces: as words,
 * and as `x-laurel-scopes` for programs.
 */
export const stateScopes = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  document: Record<string, Json>,
): Record<string, Json> => {
  const byId = new Map<string, ReadonlyArray<CallerScope>>()
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, group, mergedAnnotations }) => {
      if (!endpoint.middlewares.has(ApiKey)) return
      byId.set(`${group.identifier}.${endpoint.identifier}`, scopesOf(mergedAnnotations))
    },
  })
  for (const operation of Object.values<Json>(document.paths).flatMap(Object.values<Json>)) {
    const scopes = byId.get(operation.operationId)
    if (scopes === undefined) continue
    operation["x-laurel-scopes"] = scopes
    operation.description += `\n\n${scopeWords(scopes)}`
  }
  return document
}

/** The sentence that says which keys and tokens may call an operation with these scopes. */
export const scopeWords = (scopes: ReadonlyArray<CallerScope>): string => {
  const ofKeys = scopes.filter((scope) => scope !== "publishable" && scope !== "user")
  const callers = [
    `a secret key with the scope ${ofKeys.map((scope) => `\`${scope}\``).join(" or ")}`,
  ]
  if (scopes.includes("publishable")) callers.push("a publishable key")
  if (scopes.includes("user")) callers.push("a user token")
  return `Needs ${callers.join(", or ")}.`
}

const notModified = () => ({ description: "You have this version." })

/** Whether the body has the version of one thing, or of all definitions. */
const showsVersion = (response: Json, document: Json): boolean => {
  const name = response.content?.["application/json"]?.schema.$ref?.split("/").at(-1)
  const { properties = {} } = document.components.schemas[name] ?? {}
  return "version" in properties || name === "DefinitionsFile"
}

/** A schema of two media types occurs twice, as `X` and `X_1`: keeps the first. */
const mergeTwins = (document: Json): void => {
  const { schemas } = document.components
  const twins = new Map<string, string>()
  for (const [name, schema] of Object.entries<Json>(schemas)) {
    const first = name.replace(/_\d+$/, "")
    if (first === name || JSON.stringify(schemas[first]) !== JSON.stringify(schema)) continue
    twins.set(`#/components/schemas/${name}`, `#/components/schemas/${first}`)
    delete schemas[name]
  }
  const redirect = (node: Json): void => {
    if (typeof node !== "object" || node === null) return
    const first = twins.get(node.$ref)
    if (first !== undefined) node.$ref = first
    for (const child of Object.values(node)) redirect(child)
  }
  redirect(document)
}

/** A body without required members is optional. */
const mayBeLeftOut = (requestBody: Json, document: Json): boolean => {
  const schema = requestBody?.content["application/json"]?.schema
  if (schema === undefined) return false
  const { required = [], type } =
    document.components.schemas[schema.$ref?.split("/").at(-1)] ?? schema
  return type === "object" && required.length === 0
}

/**
 * Outside of examples: removes bounds that every JSON integer has, and unions of one; writes
 * nullable types as lists. An object without declared members says that it takes any: clients made
 * from the document would take it for an empty one.
 */
const simplify = (node: Json): void => {
  if (typeof node !== "object" || node === null) return
  if (node.anyOf?.length === 1) {
    Object.assign(node, node.anyOf[0])
    delete node.anyOf
  }
  const [member, nothing] = node.anyOf ?? []
  if (node.anyOf?.length === 2 && nothing.type === "null" && typeof member.type === "string") {
    delete node.anyOf
    const { description = member.description, examples = member.examples } = node
    Object.assign(node, member, { type: [member.type, "null"] })
    if (description !== undefined) node.description = description
    if (examples !== undefined) node.examples = examples
    if (member.enum !== undefined) node.enum = [...member.enum, null]
  }
  if ([node.type].flat().includes("object") && node.properties === undefined) {
    node.additionalProperties ??= true
  }
  if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum
  if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum
  for (const [name, child] of Object.entries(node)) if (name !== "examples") simplify(child)
}

/** The numbers in queries of single operations. */
const mechanicDays = {
  type: "integer",
  minimum: 1,
  maximum: limits.mechanicDaysMax,
  default: limits.mechanicDaysDefault,
  description:
    "How many days `completions`, `perDay` and `xp` are of. The last one is today, in the project's time zone.",
}
const ownParameters: Record<string, Json> = {
  "/v1/facts limit": {
    type: "integer",
    minimum: 1,
    maximum: limits.factsPageMax,
    default: limits.pageDefault,
    description: "Facts after which the page ends.",
  },
  "/v1/analytics/mechanics limit": {
    type: "integer",
    minimum: 1,
    maximum: limits.mechanicRowsMax,
    default: limits.mechanicRowsDefault,
    description: "Maximum number of rows: the first in the order of `sort`.",
  },
  "/v1/analytics/mechanics days": mechanicDays,
  "/v1/analytics/mechanics/{kind}/{key} days": mechanicDays,
}

const pageParameters: Record<string, Json> = {
  limit: {
    type: "integer",
    minimum: 1,
    maximum: limits.pageMax,
    default: limits.pageDefault,
    description: "Maximum number of items.",
  },
  offset: { type: "integer", minimum: 0, default: 0, description: "Number of entries to skip." },
}
