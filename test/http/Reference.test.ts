/**
 * Documents derived from the contract: the OpenAPI document, the page that shows it, and a typed
 * client.
 */
import { Effect, Schema, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { HttpApi, HttpApiClient } from "effect/http-api"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { version } from "../../src/Build.ts"
import { messageKinds } from "../../src/domain/message/MessageKind.ts"
import { errorKinds } from "../../src/domain/values/Errors.ts"
import { Api } from "../../src/http/api/Api.ts"
import { fullKey, startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

const get = (path: string, headers = {}) => server.call("GET", path, { key: null, headers })

describe("/openapi.json", () => {
  it("names every operation that the server has, and no other", async () => {
    const { json } = await get("/openapi.json")
    expect(json.openapi).toBe("3.1.0")
    expect(Object.keys(json.paths).toSorted()).toEqual([
      "/docs",
      "/healthz",
      "/openapi.json",
      "/readyz",
      "/v1/actions",
      "/v1/analytics/activity",
      "/v1/analytics/mechanics",
      "/v1/analytics/mechanics/{kind}/{key}",
      "/v1/analytics/reminders",
      "/v1/analytics/retention",
      "/v1/badges",
      "/v1/badges/{id}",
      "/v1/badges/{id}/backfill",
      "/v1/boosts",
      "/v1/boosts/{id}",
      "/v1/currencies",
      "/v1/currencies/{id}",
      "/v1/definitions",
      "/v1/definitions/apply",
      "/v1/definitions/diff",
      "/v1/events",
      "/v1/events/batch",
      "/v1/events/import",
      "/v1/events/{id}",
      "/v1/experiments",
      "/v1/experiments/{id}",
      "/v1/experiments/{id}/results",
      "/v1/facts",
      "/v1/goals",
      "/v1/goals/{id}",
      "/v1/goals/{id}/contributors",
      "/v1/goals/{id}/days",
      "/v1/goals/{id}/teams",
      "/v1/goals/{id}/teams/{teamId}",
      "/v1/ingest/posthog/batch/",
      "/v1/ingest/segment/batch",
      "/v1/ingest/{project}/{environment}/{source}",
      "/v1/items",
      "/v1/items/preview",
      "/v1/items/{id}",
      "/v1/leaderboard",
      "/v1/leaderboards",
      "/v1/leaderboards/{id}",
      "/v1/leaderboards/{id}/close",
      "/v1/leaderboards/{id}/entries",
      "/v1/leaderboards/{id}/entries/{userId}",
      "/v1/leaderboards/{id}/groups",
      "/v1/leaderboards/{id}/lookup",
      "/v1/leaderboards/{id}/stats",
      "/v1/leaderboards/{id}/teams",
      "/v1/leaderboards/{id}/teams/{teamId}",
      "/v1/leagues",
      "/v1/leagues/{id}",
      "/v1/leagues/{id}/cohorts",
      "/v1/leagues/{id}/cohorts/{cohort}",
      "/v1/leagues/{id}/members/{userId}",
      "/v1/metrics",
      "/v1/metrics/{id}",
      "/v1/metrics/{id}/backfill",
      "/v1/metrics/{id}/series",
      "/v1/project",
      "/v1/project/preview",
      "/v1/project/simulate",
      "/v1/quests",
      "/v1/quests/{id}",
      "/v1/recap",
      "/v1/rewards/batch",
      "/v1/rules",
      "/v1/rules/{id}",
      "/v1/segments",
      "/v1/segments/preview",
      "/v1/segments/{id}",
      "/v1/sources",
      "/v1/sources/preview",
      "/v1/sources/{id}",
      "/v1/sources/{id}/rotate-secret",
      "/v1/streaks",
      "/v1/streaks/{id}",
      "/v1/stream",
      "/v1/teams",
      "/v1/teams/{id}",
      "/v1/teams/{id}/members",
      "/v1/teams/{id}/members/{userId}",
      "/v1/test-clock",
      "/v1/users",
      "/v1/users/opening/batch",
      "/v1/users/{id}",
      "/v1/users/{id}/events/{eventId}",
      "/v1/users/{id}/export",
      "/v1/users/{id}/goals",
      "/v1/users/{id}/history",
      "/v1/users/{id}/items",
      "/v1/users/{id}/leagues",
      "/v1/users/{id}/leagues/{leagueId}",
      "/v1/users/{id}/merge",
      "/v1/users/{id}/metrics",
      "/v1/users/{id}/metrics/{metricId}/series",
      "/v1/users/{id}/opening",
      "/v1/users/{id}/points/spend",
      "/v1/users/{id}/points/spend/{spendId}",
      "/v1/users/{id}/progress",
      "/v1/users/{id}/purchases",
      "/v1/users/{id}/purchases/{purchaseId}",
      "/v1/users/{id}/quests/{quest}/start",
      "/v1/users/{id}/recap",
      "/v1/users/{id}/rewards",
      "/v1/users/{id}/rewards/{rewardId}",
      "/v1/users/{id}/segments",
      "/v1/users/{id}/streaks",
      "/v1/users/{id}/streaks/{key}/calendar",
      "/v1/users/{id}/streaks/{key}/pauses",
      "/v1/users/{id}/streaks/{key}/repair",
      "/v1/users/{id}/tokens",
      "/v1/webhook-events",
      "/v1/webhooks",
      "/v1/webhooks/{id}",
      "/v1/webhooks/{id}/deliveries",
      "/v1/webhooks/{id}/deliveries/{deliveryId}",
      "/v1/webhooks/{id}/deliveries/{deliveryId}/redeliver",
      "/v1/webhooks/{id}/recover",
      "/v1/webhooks/{id}/rotate-secret",
      "/v1/webhooks/{id}/test",
    ])
    for (const [path, item] of Object.entries<object>(json.paths)) {
      const real = path.replaceAll(/\{\w+\}/g, "x")
      const methods = Object.keys(item).map((method) => method.toUpperCase())
      const prefixes = path.startsWith("/v1") ? ["", "/api"] : [""]
      for (const prefix of prefixes) {
        const { headers } = await server.call("TRACE", prefix + real, { key: null })
        const allowed = String(headers.allow).split(", ")
        expect([path, allowed.filter((method) => method !== "HEAD")]).toEqual([
          path,
          methods.toSorted(),
        ])
      }
    }
  })

  it("resolves all its references, and says which operations need a key", async () => {
    const { json, text } = await get("/openapi.json")
    for (const [, path] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
      const found = path!.split("/").reduce((node, step) => node?.[step], json)
      expect([path, found]).toEqual([path, expect.anything()])
    }
    for (const [path, item] of Object.entries<Record<string, (typeof json.paths)[string]>>(
      json.paths,
    )) {
      for (const operation of Object.values(item)) {
        expect([path, operation.security]).toEqual([
          path,
          path.startsWith("/v1") && path !== delivery ? [{ apiKey: [] }] : [],
        ])
        expect(operation.summary).toEqual(expect.any(String))
      }
    }
  })

  const delivery = "/v1/ingest/{project}/{environment}/{source}"

  it("states the scopes that each operation enforces", async () => {
    const scopes = ["full", "ingest", "read", "publishable", "user"] as const
    const keys = scopes.map((scope) =>
      server.accounts.addKey(`lk_test_of_${scope}`, { scope, userId: "u" }),
    )
    const { json } = await get("/openapi.json")
    let operations = 0
    for (const [path, item] of Object.entries<object>(json.paths)) {
      for (const [method, operation] of Object.entries<(typeof json.paths)[string]>(item)) {
        const stated = operation["x-laurel-scopes"]
        if (operation.security.length === 0) {
          expect([path, stated]).toEqual([path, undefined])
          continue
        }
        operations++
        // The query has a fault, so that nothing is performed where the scope permits it.
        const real = `${path.replaceAll(/\{\w+\}/g, "u")}?x=1`
        const permitted: Array<string> = []
        for (const [at, scope] of scopes.entries()) {
          const reply = await server.call(method.toUpperCase(), real, { key: keys[at]! })
          if (reply.json.code !== "insufficient_scope") {
            permitted.push(scope)
            continue
          }
          expect([reply.json.scope, reply.json.neededScopes]).toEqual([
            scope,
            stated.filter((each: string) => ["full", "ingest", "read"].includes(each)),
          ])
          for (const needed of reply.json.neededScopes) expect(reply.json.detail).toContain(needed)
        }
        expect([method, path, stated]).toEqual([method, path, permitted])
        const sentence = operation.description.split("\n\n").at(-1)
        const words = {
          full: "`full`",
          ingest: "`ingest`",
          read: "`read`",
          publishable: "a publishable key",
          user: "a user token",
        }
        expect(sentence).toMatch(/^Needs a secret key with the scope /)
        for (const scope of scopes) {
          expect([path, scope, sentence.includes(words[scope])]).toEqual([
            path,
            scope,
            permitted.includes(scope),
          ])
        }
      }
    }
    expect(operations).toBeGreaterThan(35)
  })

  it("has the version of Laurel, as every reply", async () => {
    const { headers, json } = await get("/openapi.json")
    expect([json.info.version, headers["laurel-version"]]).toEqual([version, version])
    for (const path of ["/nothing", "/v1/nothing", "/v1/users/u"]) {
      const reply = await get(path)
      expect([path, reply.status >= 400, reply.headers["laurel-version"]]).toEqual([
        path,
        true,
        version,
      ])
    }
  })

  it("states the bounds of requests", async () => {
    const { json } = await get("/openapi.json")
    const { Event, XpGrant } = json.components.schemas
    expect(Event.required.toSorted()).toEqual(["action", "userId"])
    expect(Event.properties.action.pattern).toBe("^[A-Z][A-Z0-9_]{0,63}$")
    expect(JSON.stringify(Event.properties.userId)).toContain('"maxLength":128')
    expect(JSON.stringify(XpGrant.properties.amount)).toContain('"maximum":1000000000')
    const [limit, offset] = ["limit", "offset"].map((name) =>
      json.paths["/v1/leaderboard"].get.parameters.find(
        (each: { name: string }) => each.name === name,
      ),
    )
    expect(limit.schema).toEqual({ type: "integer", minimum: 1, maximum: 100, default: 20 })
    expect(offset.schema).toEqual({ type: "integer", minimum: 0, default: 0 })
  })

  it("has no empty or internal words", async () => {
    const { json } = await get("/openapi.json")
    const text = JSON.stringify(json, (key, value) => (key === "examples" ? undefined : value))
    expect(text).not.toContain(String(Number.MAX_SAFE_INTEGER))
    expect(text).not.toMatch(/"anyOf":\[\{[^{}]*\}\]/)
    expect(json.components.securitySchemes.apiKey).toMatchObject({ type: "http", scheme: "bearer" })
    const names = Object.keys(json.components.schemas)
    expect(names).toEqual(names.toSorted())
    for (const [path, item] of Object.entries<Record<string, (typeof json.paths)[string]>>(
      json.paths,
    )) {
      if (!path.startsWith("/v1")) continue
      for (const operation of Object.values(item)) {
        expect([path, operation.description]).toEqual([path, expect.any(String)])
        for (const { description } of Object.values<{ description: string }>(operation.responses)) {
          expect([path, description]).toEqual([path, expect.stringMatching(/ /)])
        }
      }
    }
  })

  it("describes every member and every parameter, and each operation in words of its own", async () => {
    const { json } = await get("/openapi.json")
    const undescribed = new Set<string>()
    const seen = new Set<string>()
    // biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document is JSON
    const walk = (name: string, schema: any): void => {
      if (schema.$ref !== undefined) {
        const named = schema.$ref.split("/").at(-1)
        if (seen.has(named)) return
        seen.add(named)
        walk(named, json.components.schemas[named])
        return
      }
      for (const [key, member] of Object.entries<typeof schema>(schema.properties ?? {})) {
        const target = json.components.schemas[member.$ref?.split("/").at(-1)] ?? member
        // The name and the value of a member with a single value describe it.
        const isTag = target.enum?.length === 1 || target.const !== undefined
        if (!isTag && member.description === undefined && target.description === undefined) {
          undescribed.add(`${name}.${key}`)
        }
        walk(`${name}.${key}`, member)
      }
      if (schema.items !== undefined) walk(`${name}[]`, schema.items)
      for (const each of [...(schema.anyOf ?? schema.oneOf ?? []), ...(schema.allOf ?? [])])
        walk(name, each)
    }
    const summaries = new Set<string>()
    let operations = 0
    for (const [path, item] of Object.entries<Record<string, (typeof json.paths)[string]>>(
      json.paths,
    )) {
      for (const [method, operation] of Object.entries(item)) {
        const { description, parameters = [], requestBody, responses, summary } = operation
        operations++
        summaries.add(summary)
        if (description === undefined) undescribed.add(`${method} ${path}`)
        for (const parameter of parameters) {
          if ((parameter.description ?? parameter.schema.description) === undefined) {
            undescribed.add(`${method} ${path} ${parameter.name}`)
          }
        }
        for (const { content = {} } of [
          requestBody ?? {},
          ...Object.values<object>(responses),
        ] as ReadonlyArray<{ content?: Record<string, { schema: object }> }>) {
          for (const { schema } of Object.values(content)) walk(`${method} ${path}`, schema)
        }
      }
    }
    expect(summaries.size).toBe(operations)
    expect(seen.size).toBeGreaterThan(80)
    expect([...undescribed]).toEqual([])
  })

  it("allows any members in every object without declared members", async () => {
    const { json } = await get("/openapi.json")
    expect(json.components.schemas.Event.properties.metadata).toMatchObject({
      type: "object",
      additionalProperties: true,
    })
    // biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document is JSON
    const emptyIn = (node: any, path: string): ReadonlyArray<string> => {
      if (typeof node !== "object" || node === null) return []
      const isFree = [node.type].flat().includes("object") && node.properties === undefined
      const isEmpty = isFree && (node.additionalProperties ?? false) === false
      const below = Object.entries(node).flatMap(([key, child]) =>
        key === "examples" ? [] : emptyIn(child, `${path}/${key}`),
      )
      return isEmpty ? [path, ...below] : below
    }
    expect(emptyIn(json, "")).toEqual([])
  })

  it("names schemas so that every language can take the names for its types", async () => {
    const { json } = await get("/openapi.json")
    const names = Object.keys(json.components.schemas)
    expect(names.filter((name) => !/^([A-Z][a-z]*)+$/.test(name))).toEqual([])
  })

  it("types messages by their kind, at streams, deliveries and webhooks", async () => {
    const { json } = await get("/openapi.json")
    const { schemas } = json.components
    const { discriminator, oneOf } = schemas.Message
    const { kinds } = (await server.call("GET", "/v1/webhook-events")).json
    expect(kinds.length).toBe(messageKinds.length)
    expect(Object.keys(json.webhooks)).toEqual(messageKinds)
    expect(Object.keys(discriminator.mapping)).toEqual(messageKinds)
    expect(oneOf).toHaveLength(messageKinds.length)
    for (const [index, { description, kind, schema }] of kinds.entries()) {
      const { $ref } = oneOf[index]
      const { post } = json.webhooks[kind]
      expect(discriminator.mapping[kind]).toBe($ref)
      expect(post.requestBody.content["application/json"].schema).toEqual({ $ref })
      expect(post.description).toBe(description)
      const named = schemas[$ref.split("/").at(-1)]
      expect(named.properties.type.enum).toEqual([kind])
      expect(Object.keys(named.properties.data.properties)).toEqual(
        Object.keys(schema.properties.data.properties),
      )
    }
    const stream = json.paths["/v1/stream"].get.responses[200].content["text/event-stream"]
    expect(stream).toEqual({ schema: { $ref: "#/components/schemas/Message" } })
    expect(schemas.DeliveryDetails.properties.message.anyOf).toEqual([
      { $ref: "#/components/schemas/Message" },
      { type: "null" },
    ])
  })

  it("types nullable members", async () => {
    const { json } = await get("/openapi.json")
    const { QuestPatch } = json.components.schemas
    expect(QuestPatch.properties.endsAt).toMatchObject({
      type: ["string", "null"],
      format: "date-time",
      description: expect.stringContaining("End, after `startsAt`"),
    })
    expect(QuestPatch.properties.recurrence.enum).toEqual([
      "none",
      "daily",
      "weekly",
      "monthly",
      null,
    ])
    expect(QuestPatch.properties.endsAt.anyOf).toBeUndefined()
  })

  it("uses the terms of the field", async () => {
    const { text } = await get("/openapi.json")
    const phrases =
      /\b(anew|(is|are|was|were) (told|had)|goes on|what became|as it should|whoever|by what|taken back|was there already|nothing is here|may not do this)\b/gi
    expect([...text.matchAll(phrases)].map(([phrase]) => phrase)).toEqual([])
  })

  it("documents every error code", async () => {
    const { json } = await get("/openapi.json")
    for (const code of Object.keys(errorKinds)) {
      expect(json.info.description).toContain(`\`${code}\``)
    }
  })

  it("has examples that its own schemas accept", () => {
    let examples = 0
    HttpApi.reflect(Api, {
      onGroup: () => {},
      onEndpoint: ({ endpoint }) => {
        for (const { schemas } of endpoint.payload.values()) {
          const [schema] = schemas
          const given = Schema.resolveAnnotations(schema)?.examples as ReadonlyArray<unknown>
          for (const example of given ?? []) {
            examples++
            const decode = Schema.decodeUnknownSync(
              schema as unknown as Schema.ConstraintDecoder<unknown>,
              { onExcessProperty: "error" },
            )
            expect(decode(example)).toEqual(example)
          }
        }
      },
    })
    expect(examples).toBeGreaterThanOrEqual(5)
  })
})

describe("A file of the reference", () => {
  const raw = async (headers: Record<string, string>) => {
    const response = await fetch(`${server.url}/openapi.json`, { headers })
    return { response, text: await response.text() }
  }

  it("is compressed for clients that accept gzip, and plain for others", async () => {
    const { text } = await get("/openapi.json")
    const compressed = await raw({ "accept-encoding": "br, gzip;q=0.5" })
    expect(compressed.response.headers.get("content-encoding")).toBe("gzip")
    expect(compressed.response.headers.get("vary")).toBe("Accept-Encoding")
    expect(Number(compressed.response.headers.get("content-length"))).toBeLessThan(text.length / 5)
    expect(compressed.text).toBe(text)
    for (const encoding of ["identity", "br", "gzip;q=0", "gzip; q=0.00", "xgzip", "gzipped"]) {
      const plain = await raw({ "accept-encoding": encoding })
      expect([encoding, plain.response.headers.get("content-encoding")]).toEqual([encoding, null])
      expect(plain.text).toBe(text)
    }
  })

  it("is answered with 304 for clients that have it", async () => {
    const { headers } = await get("/openapi.json")
    const etag = String(headers.etag)
    expect(etag).toMatch(/^W\/"[0-9a-f]{16}"$/)
    expect(headers["cache-control"]).toBe("no-cache")
    for (const known of [etag, etag.slice(2), `"other", ${etag}`, "*"]) {
      const again = await get("/openapi.json", { "if-none-match": known })
      expect([known, again.status, again.text]).toEqual([known, 304, ""])
      expect(again.headers.etag).toBe(etag)
    }
    for (const other of ['"other"', etag.slice(3, -1), ""]) {
      expect((await get("/openapi.json", { "if-none-match": other })).status).toBe(200)
    }
  })
})

describe("/", () => {
  it("redirects a browser to the reference", async () => {
    const reply = await get("/", { accept: "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8" })
    expect(reply.status).toBe(302)
    expect(reply.headers.location).toBe("/docs")
  })

  it("names the reference to other clients", async () => {
    const reply = await get("/", { accept: "*/*" })
    expect(reply.status).toBe(200)
    expect(reply.json).toEqual({
      name: "laurel",
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      reference: "/docs",
      guide: "/guide",
      openapi: "/openapi.json",
    })
  })
})

describe("/docs", () => {
  it("loads nothing from other servers", async () => {
    const page = await get("/docs")
    expect(page.headers["content-type"]).toBe("text/html; charset=utf-8")
    expect(page.headers["content-security-policy"]).toContain("default-src 'none'")
    const sources = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, source]) => source)
    expect(sources).toEqual([
      "data:,",
      "/openapi.json",
      expect.stringMatching(/^\/docs\/reference\.js\?v=/),
    ])
  })

  it("has a script that browsers cache", async () => {
    const page = await get("/docs")
    const path = /src="([^"]+)"/.exec(page.text)![1]!
    const script = await get(path)
    expect(script.headers["content-type"]).toBe("text/javascript; charset=utf-8")
    expect(script.headers["cache-control"]).toContain("immutable")
    expect(script.text).toContain("Scalar.createApiReference")
    expect(() => new Function(script.text)).not.toThrow()
    const known = await get(path, { "if-none-match": script.headers.etag })
    expect([known.status, known.text]).toEqual([304, ""])
    const response = await fetch(server.url + path, { headers: { "accept-encoding": "gzip" } })
    expect(response.headers.get("content-encoding")).toBe("gzip")
    expect(Number(response.headers.get("content-length"))).toBeLessThan(script.text.length / 3)
    expect(await response.text()).toBe(script.text)
  })
})

describe("the typed client", () => {
  const clientOf = (key: string) =>
    HttpApiClient.make(Api, {
      baseUrl: server.url,
      transformClient: HttpClient.mapRequest(HttpClientRequest.bearerToken(key)),
    })
  const run = <A, E>(effect: Effect.Effect<A, E, HttpClient.HttpClient>) =>
    Effect.runPromise(Effect.provide(effect, FetchHttpClient.layer))

  it("calls the server", async () => {
    const result = await run(
      Effect.gen(function* () {
        const client = yield* clientOf(fullKey)
        yield* client.rules.create({
          headers: {},
          payload: { action: "LESSON_DONE", reward: { xp: 50 } },
        })
        const event = { userId: "typed/ü", action: "LESSON_DONE" }
        const tracked = yield* client.events.track({ headers: {}, payload: event })
        const batch = yield* client.events.trackBatch({ headers: {}, payload: { events: [event] } })
        const stream = yield* client.events.trackBatch({
          headers: { "idempotency-key": "k" },
          payload: Stream.make(event, event),
        })
        const user = yield* client.users.get({ params: { id: "typed/ü" } })
        const board = yield* client.leaderboard.get({ query: { limit: 1 } })
        const quest = yield* client.quests.create({
          headers: {},
          payload: { title: "T", reward: { xp: 5 } },
        })
        const quests = yield* client.quests.list({ query: { status: "active", limit: 1 } })
        return { tracked, batch, stream, user, board, quest, quests }
      }),
    )
    expect(result.tracked.xp).toEqual({ earned: 50, total: 50 })
    expect([result.batch.accepted, result.stream.accepted]).toEqual([1, 2])
    expect(result.user.xp).toBe(200)
    expect(result.board.entries[0]).toMatchObject({ rank: 1, userId: "typed/ü", xp: 200 })
    expect(result.quests.quests).toEqual([result.quest])
  })

  it("gets errors as typed values", async () => {
    const notFound = await run(
      Effect.gen(function* () {
        const client = yield* clientOf(fullKey)
        return yield* Effect.flip(client.users.get({ params: { id: "nobody" } }))
      }),
    )
    expect(notFound).toMatchObject({ status: 404, code: "user_not_found" })
    const unauthorized = await run(
      Effect.gen(function* () {
        const client = yield* clientOf("lk_test_nobody")
        return yield* Effect.flip(client.leaderboard.get({ query: {} }))
      }),
    )
    expect(unauthorized).toMatchObject({ status: 401, code: "unauthorized" })
  })
})
