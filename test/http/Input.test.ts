/** Every bound of requests, from both sides, and hostile input. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { waitMs } from "../waitMs.ts"
import { type Reply, startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

const post = (path: string, body: unknown) => server.call("POST", path, { body })
const event = (more: object) => post("/v1/events", { userId: "u", action: "A", ...more })

/** The faults of a reply that must be a 400, as pointer and code. */
const faultsOf = ({ json, status }: Reply): ReadonlyArray<readonly [string, string]> => {
  expect([status, json.code]).toEqual([400, "invalid_request"])
  return json.errors.map(({ code, pointer }: { code: string; pointer: string }) => [pointer, code])
}

const emoji = "😀"
const nested = (depth: number): unknown => (depth === 1 ? {} : { a: nested(depth - 1) })
const nestedList = (depth: number): unknown => (depth === 0 ? 1 : [nestedList(depth - 1)])

/** Metadata of exactly `bytes` as JSON. */
const metadataOf = (bytes: number) => ({ text: "x".repeat(bytes - '{"text":""}'.length) })

const accepted: ReadonlyArray<readonly [string, object]> = [
  ["a user id of 1 character", { userId: "x" }],
  ["a user id of 128 characters", { userId: "x".repeat(128) }],
  ["a user id of 128 emoji", { userId: emoji.repeat(128) }],
  ["__proto__ as a user id", { userId: "__proto__" }],
  ["an action of 64 characters", { action: `A${"_".repeat(63)}` }],
  ["an id of 128 characters", { id: "i".repeat(128) }],
  ["metadata of 16 KiB", { metadata: metadataOf(limits.metadataBytesMax) }],
  ["metadata of 16 KiB in long characters", { metadata: { text: "ü".repeat(8_186) } }],
  ["metadata 8 levels deep", { metadata: nested(8) }],
  ["lists in metadata 8 levels deep", { metadata: { list: nestedList(7) } }],
  ["constructor and toString in metadata", { metadata: { constructor: 1, toString: null } }],
]

const refused: ReadonlyArray<readonly [string, object, string, string]> = [
  ["an empty user id", { userId: "" }, "/userId", "too_short"],
  ["a user id of 129 characters", { userId: "x".repeat(129) }, "/userId", "too_long"],
  ["a user id of 129 emoji", { userId: emoji.repeat(129) }, "/userId", "too_long"],
  ["NUL in a user id", { userId: "a\u0000b" }, "/userId", "invalid_format"],
  ["a control character in a user id", { userId: "a\u009fb" }, "/userId", "invalid_format"],
  ["a lone surrogate in a user id", { userId: "a\ud800" }, "/userId", "invalid_format"],
  ["a number as user id", { userId: 5 }, "/userId", "invalid_type"],
  ["null as user id", { userId: null }, "/userId", "invalid_type"],
  ["an empty action", { action: "" }, "/action", "invalid_format"],
  ["an action in small letters", { action: "done" }, "/action", "invalid_format"],
  ["an action of 65 characters", { action: "A".repeat(65) }, "/action", "invalid_format"],
  ["a line break after an action", { action: "A\n" }, "/action", "invalid_format"],
  ["an empty id", { id: "" }, "/id", "too_short"],
  ["an id of 129 characters", { id: "i".repeat(129) }, "/id", "too_long"],
  ["a list as metadata", { metadata: [] }, "/metadata", "invalid_type"],
  ["null as metadata", { metadata: null }, "/metadata", "invalid_type"],
  [
    "metadata of more than 16 KiB",
    { metadata: metadataOf(limits.metadataBytesMax + 1) },
    "/metadata",
    "too_large",
  ],
  ["metadata 9 levels deep", { metadata: nested(9) }, "/metadata", "too_deep"],
  ["lists in metadata 9 levels deep", { metadata: { l: nestedList(8) } }, "/metadata", "too_deep"],
  ["a lone surrogate in metadata", { metadata: { a: "\udc00" } }, "/metadata", "invalid_format"],
  ["a lone surrogate as member", { metadata: { "\udc00": 1 } }, "/metadata", "invalid_format"],
  ["a time without zone", { occurredAt: "2026-11-01T09:30:00" }, "/occurredAt", "invalid_format"],
  ["30 February", { occurredAt: "2026-02-30T09:30:00Z" }, "/occurredAt", "invalid_format"],
  ["a time as number", { occurredAt: 1_790_000_000_000 }, "/occurredAt", "invalid_type"],
  ["an unknown member", { usrId: "x" }, "/usrId", "unknown_member"],
  ["a member with signs in its name", { "a/b~c": 1 }, "/a~1b~0c", "unknown_member"],
]

describe("an event", () => {
  it.each(accepted)("may have %s", async (_, more) => {
    expect((await event(more)).status).toBe(200)
  })

  it.each(refused)("may not have %s", async (_, more, pointer, code) => {
    expect(faultsOf(await event(more))).toEqual([[pointer, code]])
  })

  it("may be from up to 30 days ago to 5 minutes ahead", async () => {
    const from = (ms: number) => event({ occurredAt: new Date(Date.now() + ms).toISOString() })
    // The clock runs on until the server reads it.
    for (const ms of [limits.occurredAtFutureMs, waitMs - limits.occurredAtPastMs]) {
      expect((await from(ms)).status).toBe(200)
    }
    for (const ms of [limits.occurredAtFutureMs + waitMs, -limits.occurredAtPastMs - 1]) {
      expect(faultsOf(await from(ms))).toEqual([["/occurredAt", "out_of_range"]])
    }
  })

  it("gets all faults in one reply", async () => {
    const reply = await post("/v1/events", { userId: 1, acton: "A", metadata: [], id: "" })
    expect(faultsOf(reply).toSorted()).toEqual([
      ["/action", "missing"],
      ["/acton", "unknown_member"],
      ["/id", "too_short"],
      ["/metadata", "invalid_type"],
      ["/userId", "invalid_type"],
    ])
  })

  it("must be an object", async () => {
    for (const body of ["[]", "null", "5", '"x"', "true"]) {
      expect(faultsOf(await post("/v1/events", body))).toEqual([["", "invalid_type"]])
    }
  })

  it("may have __proto__ in its metadata, but not as a member of its own", async () => {
    const inside = '{"userId":"p","action":"A","metadata":{"__proto__":{"x":1}}}'
    expect((await post("/v1/events", inside)).status).toBe(200)
    const outside = '{"userId":"p","action":"A","__proto__":{"x":1}}'
    expect(faultsOf(await post("/v1/events", outside))).toEqual([["/__proto__", "unknown_member"]])
    expect(({} as { x?: number }).x).toBeUndefined()
  })

  it("has the same members whether their names are plain or escaped, alone and in a batch", async () => {
    const events = ["plain", "esc"].map((userId, escaped) => {
      const name = escaped ? "\\u005f_pr\\u006fto__" : "__proto__"
      const metadata = `{"a":{"${name}":{"x":1}},"${name}":null,"b":2}`
      const more = `"action":"A","metadata":${metadata}`
      return `{"${escaped ? "\\u0075serId" : "userId"}":"${userId}",${more}}`
    })
    for (const event of events) expect((await post("/v1/events", event)).status).toBe(200)
    const name = "\\u0065vents"
    const batch = await post("/v1/events/batch", `{"${name}":[${events.join()}]}`)
    expect(batch.json).toMatchObject({ accepted: 2, rejected: 0 })
    for (const userId of ["plain", "esc"]) {
      const { text } = await server.call("GET", `/v1/users/${userId}/history`)
      const found = [...text.matchAll(/"metadata":(.*?"b":2\})/g)].map(([, metadata]) => metadata)
      // Two events. The first one also created the user, which is a fact of its own.
      expect(found).toEqual(Array(3).fill('{"a":{"__proto__":{"x":1}},"__proto__":null,"b":2}'))
    }
  })

  it("counts the last of members with the same name", async () => {
    const body = '{"userId":"first","action":"A","userId":"last"}'
    expect((await post("/v1/events", body)).json.userId).toBe("last")
  })

  it("is refused without harm, however deep it is nested", async () => {
    const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels)
    const nest = deep(30_000)
    expect(faultsOf(await post("/v1/events", nest))).toEqual([["", "invalid_type"]])
    const metadata = `{"userId":"u","action":"A","metadata":{"a":${nest}}}`
    expect(faultsOf(await post("/v1/events", metadata))).toEqual([["/metadata", "too_deep"]])
    const unknown = `{"userId":"u","action":"A","a":${nest}}`
    expect(faultsOf(await post("/v1/events", unknown))).toEqual([["/a", "unknown_member"]])
    const inBatch = `{"userId":"u","action":"A","metadata":{"a":${nest}}}`
    const events = `{"events":[${nest},${inBatch},${deep(1_000_000)}]}`
    const { json, status } = await post("/v1/events/batch", events)
    expect(status).toBe(200)
    expect(
      json.results.map((result: { errors: [{ code: string }] }) => result.errors[0].code),
    ).toEqual(["invalid_type", "too_deep", "too_large"])
  })

  it("with very many faults gets a bounded number of them", async () => {
    const members = Array.from({ length: 3_000 }, (_, i) => `"m${i}":1`).join(",")
    const { json } = await post("/v1/events", `{${members}}`)
    expect(json.errors).toHaveLength(limits.faultsMax)
    const long = await post("/v1/events", { userId: "u", action: "A", ["k".repeat(50_000)]: 1 })
    expect(long.json.errors[0].pointer.length).toBeLessThan(110)
  })

  it("gets at most faultsMax faults over all parts of its request", async () => {
    const parameters = Array.from({ length: 1_500 }, (_, i) => `p${i}`).join("&")
    const members = Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`m${i}`, 1]))
    const { json, status } = await server.call("POST", `/v1/quests?${parameters}`, {
      body: members,
      headers: { "idempotency-key": "\u00e9" },
    })
    expect(status).toBe(400)
    expect(json.errors).toHaveLength(limits.faultsMax)
  })
})

describe("a body", () => {
  it("that is not JSON is refused, and the refusal does not repeat it", async () => {
    const broken = ["", "{", '{"userId":"hush",}', "hush", "{} {}", "\ufeff{}", "NaN", "{'a':1}"]
    for (const body of broken) {
      const { json, status, text } = await post("/v1/events", body)
      expect([body, status, json.code]).toEqual([body, 400, "invalid_json"])
      expect(text).not.toContain("hush")
    }
  })

  it("that is not UTF-8 is refused", async () => {
    const body = Buffer.concat([
      Buffer.from('{"userId":"'),
      Buffer.from([0xff, 0xc0]),
      Buffer.from('","action":"A"}'),
    ])
    const { json } = await post("/v1/events", body)
    expect(json.code).toBe("invalid_json")
  })

  it("may have 64 KiB and not a byte more, announced or not", async () => {
    const start = '{"userId":"u","action":"A"}'
    const largest = start + " ".repeat(limits.bodyBytesMax - start.length)
    for (const headers of [{}, { "transfer-encoding": "chunked" }] as const) {
      const send = (body: string) =>
        server.call("POST", "/v1/events", { body, headers: { ...headers } })
      expect((await send(largest)).status).toBe(200)
      const { json, status } = await send(`${largest} `)
      expect([status, json.code]).toEqual([413, "body_too_large"])
    }
  })

  it("must say that it is JSON in UTF-8", async () => {
    const body = { userId: "u", action: "A" }
    const send = (headers: Record<string, string>) =>
      server.call("POST", "/v1/events", { body, headers })
    for (const type of [
      "application/json",
      "Application/JSON; charset=UTF-8",
      'application/json; charset="utf8"',
      "application/json;charset=utf8",
    ]) {
      expect((await send({ "content-type": type })).status).toBe(200)
    }
    for (const type of ["text/plain", "application/json; charset=latin1", "", "json"]) {
      const { headers, json, status } = await send({ "content-type": type })
      expect([type, status, json.code]).toEqual([type, 415, "unsupported_media_type"])
      expect(headers["accept-post"]).toBe("application/json")
    }
    expect((await send({ "content-encoding": "gzip" })).status).toBe(415)
    for (const coding of ["identity", "Identity"]) {
      expect((await send({ "content-encoding": coding })).status).toBe(200)
    }
  })
})

describe("a reward", () => {
  const grant = (more: object) => post("/v1/users/rich/rewards", { type: "xp", amount: 1, ...more })

  it.each([1, limits.amountMax])("may have the amount %d", async (amount) => {
    expect((await grant({ amount })).status).toBe(200)
  })

  it.each([
    ["0", "out_of_range"],
    ["-1", "out_of_range"],
    ["1000000001", "out_of_range"],
    ["0.5", "invalid_type"],
    ["9007199254740993", "invalid_type"],
    ["1e400", "invalid_type"],
    ['"NaN"', "invalid_type"],
    ['"5"', "invalid_type"],
    ["null", "invalid_type"],
  ])("may not have the amount %s", async (amount, code) => {
    const reply = await post("/v1/users/rich/rewards", `{"type":"xp","amount":${amount}}`)
    expect(faultsOf(reply)).toEqual([["/amount", code]])
  })

  it("has an existing kind, and a reason and an id within their bounds", async () => {
    expect(faultsOf(await grant({ type: "gold" }))).toEqual([["/type", "invalid_value"]])
    expect((await grant({ reason: emoji.repeat(500) })).status).toBe(200)
    expect(faultsOf(await grant({ reason: "r".repeat(501) }))).toEqual([["/reason", "too_long"]])
    expect(faultsOf(await grant({ reason: "\u0007" }))).toEqual([["/reason", "invalid_format"]])
    expect(faultsOf(await grant({ id: "" }))).toEqual([["/id", "too_short"]])
  })

  it("goes to a user id within its bounds", async () => {
    const to = (id: string) => post(`/v1/users/${id}/rewards`, { type: "xp", amount: 1 })
    expect((await to(encodeURIComponent(emoji.repeat(128)))).status).toBe(200)
    expect(faultsOf(await to(encodeURIComponent(emoji.repeat(129))))).toEqual([
      ["path/id", "too_long"],
    ])
    expect(faultsOf(await to("a%00b"))).toEqual([["path/id", "invalid_format"]])
    for (const malformed of ["%", "%zz", "%ff", "%c0%af", "%ed%a0%80"]) {
      expect(faultsOf(await to(malformed))).toEqual([["path/id", "invalid_format"]])
    }
  })

  it("gets the faults of path and body in one reply", async () => {
    const reply = await post("/v1/users/%00/rewards?x=1", { type: "xp" })
    expect(faultsOf(reply).toSorted()).toEqual([
      ["/amount", "missing"],
      ["path/id", "invalid_format"],
      ["query/x", "unknown_member"],
    ])
  })
})

describe("a webhook", () => {
  const webhook = (more: object) =>
    post("/v1/webhooks", { url: "https://example.com/", events: ["*"], ...more })

  it("is accepted up to its bounds", async () => {
    const replies = [
      webhook({ events: new Array(50).fill("xp.earned") }),
      webhook({ url: `https://example.com/${"x".repeat(2_028)}` }),
      webhook({ description: "" }),
    ]
    for (const { status } of await Promise.all(replies)) expect(status).toBe(201)
  })

  it.each([
    ["/url", "too_long", () => webhook({ url: `https://example.com/${"x".repeat(2_029)}` })],
    ["/url", "too_short", () => webhook({ url: "" })],
    ["/events", "too_short", () => webhook({ events: [] })],
    ["/events", "too_long", () => webhook({ events: new Array(51).fill("*") })],
    ["/events/1", "invalid_value", () => webhook({ events: ["*", "xp.stolen"] })],
    ["/events/0", "invalid_value", () => webhook({ events: ["nothing.*"] })],
    ["/secret", "unknown_member", () => webhook({ secret: "x" })],
  ] as const)("is refused with %s %s", async (pointer, code, send) => {
    expect(faultsOf(await send())).toEqual([[pointer, code]])
  })
})

describe("a query", () => {
  const get = (path: string) => server.call("GET", path)

  it.each([
    "limit=1",
    "limit=100",
    "offset=0",
    "limit=%31",
    "",
    "&",
    "window=all_time",
    "window=daily",
    "window=weekly",
    "window=monthly",
  ])("may be %s", async (query) => {
    expect((await get(`/v1/leaderboard?${query}`)).status).toBe(200)
  })

  it.each([
    ["limit=0", "query/limit", "out_of_range"],
    ["limit=101", "query/limit", "out_of_range"],
    ["limit=-1", "query/limit", "invalid_type"],
    ["limit=1.5", "query/limit", "invalid_type"],
    ["limit=1e1", "query/limit", "invalid_type"],
    ["limit=", "query/limit", "invalid_type"],
    ["limit", "query/limit", "invalid_type"],
    ["limit=NaN", "query/limit", "invalid_type"],
    ["limit=+5", "query/limit", "invalid_type"],
    ["limit=1&limit=2", "query/limit", "duplicate"],
    ["limit=%zz", "query/limit", "invalid_format"],
    ["offset=-1", "query/offset", "invalid_type"],
    ["offset=9007199254740993", "query/offset", "invalid_type"],
    ["window=hourly", "query/window", "invalid_value"],
    ["window=Daily", "query/window", "invalid_value"],
    ["window=daily&at=yesterday", "query/at", "invalid_format"],
    ["window=daily&at=2026-02-30", "query/at", "invalid_format"],
    ["window=daily&at=2026-2-3", "query/at", "invalid_format"],
    ["window=daily&at=2026-02-03T10:00:00", "query/at", "invalid_format"],
    ["window=daily&at=1970-01-01", "query/at", "out_of_range"],
    ["window=daily&at=9999-12-31", "query/at", "out_of_range"],
    ["window=daily&at=9999-12-31T23:59:59Z", "query/at", "out_of_range"],
    ["at=2026-02-03", "query/at", "invalid_value"],
    ["around=", "query/around", "too_short"],
    [`around=${"u".repeat(129)}`, "query/around", "too_long"],
    ["around=u&offset=0", "query/offset", "invalid_value"],
    ["page=2", "query/page", "unknown_member"],
    ["__proto__=1", "query/__proto__", "unknown_member"],
  ])("may not be %s", async (query, pointer, code) => {
    expect(faultsOf(await get(`/v1/leaderboard?${query}`))).toEqual([[pointer, code]])
  })

  it("accepts existing statuses only", async () => {
    for (const status of ["draft", "scheduled", "active", "paused", "ended", "archived"]) {
      expect((await get(`/v1/quests?status=${status}`)).status).toBe(200)
    }
    expect(faultsOf(await get("/v1/quests?status=done"))).toEqual([
      ["query/status", "invalid_value"],
    ])
  })

  it("is refused by an operation without parameters", async () => {
    expect(faultsOf(await get("/v1/users/u?verbose=1"))).toEqual([
      ["query/verbose", "unknown_member"],
    ])
  })
})
