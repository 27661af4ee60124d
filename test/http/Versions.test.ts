/** Versions of definitions, webhooks and settings: `ETag`, `If-Match`, `If-None-Match`. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { entityTag } from "../../src/http/api/EntityTags.ts"
import { limits } from "../../src/Limits.ts"
import { faultsOf, Place, problemOf } from "./definitions.ts"
import { type Reply, startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `versions${places++}`)

/** Each thing with a version: how it is made, and two changes of it. */
const kinds = [
  ["rules", { action: "TAP", reward: { xp: 1 } }, { reward: { xp: 2 } }, { reward: { xp: 3 } }],
  ["quests", { title: "Q", reward: { xp: 1 } }, { title: "R" }, { title: "S" }],
  ["badges", { name: "B", criteria: { kind: "manual" } }, { name: "C" }, { name: "D" }],
  ["boosts", { name: "B", currencies: ["xp"], factor: 2 }, { factor: 3 }, { factor: 4 }],
  [
    "leagues",
    {
      name: "L",
      score: { currency: "xp" },
      divisions: [{ key: "one", name: "One", promote: 0, demote: 0 }],
    },
    { name: "M" },
    { name: "N" },
  ],
  ["sources", { name: "S", kind: "github", mappings: [] }, { name: "T" }, { name: "U" }],
  ["goals", { name: "G", score: { currency: "xp" }, target: 5 }, { name: "H" }, { name: "I" }],
  ["items", { name: "I", price: { points: 1 } }, { name: "J" }, { name: "K" }],
  ["leaderboards", { name: "B", score: { currency: "xp" } }, { name: "C" }, { name: "D" }],
  [
    "experiments",
    {
      name: "B",
      variants: [
        { key: "a", weight: 1 },
        { key: "b", weight: 1 },
      ],
    },
    { name: "C" },
    { name: "D" },
  ],
  [
    "webhooks",
    { url: "https://example.com/", events: ["*"] },
    { description: "One" },
    { description: "Two" },
  ],
] as const

const patch = (place: Place, path: string, body: unknown, ifMatch: string) =>
  place.call("PATCH", path, { body, headers: { "if-match": ifMatch } })
const remove = (place: Place, path: string, ifMatch: string) =>
  place.call("DELETE", path, { headers: { "if-match": ifMatch } })
const read = (place: Place, path: string, ifNoneMatch: string) =>
  place.call("GET", path, { headers: { "if-none-match": ifNoneMatch } })

/** The version in a reply, which must be its tag. */
const versionOf = ({ headers, json, status }: Reply): number => {
  expect([status < 300, headers.etag]).toEqual([true, entityTag(json.version)])
  return json.version
}

describe.each(kinds)("a version of %s", (plural, made, one, two) => {
  const create = async (place: Place) =>
    `/v1/${plural}/${await place.create(`/v1/${plural}`, made)}`

  it("is 1 at creation, one more with each change, and the tag of replies that show it", async () => {
    const place = newPlace()
    const created = await place.post(`/v1/${plural}`, made)
    expect(versionOf(created)).toBe(1)
    const path = `/v1/${plural}/${created.json.id}`
    expect(versionOf(await place.patch(path, one))).toBe(2)
    expect(versionOf(await place.patch(path, two))).toBe(3)
    expect(versionOf(await place.get(path))).toBe(3)
    const listed = (await place.get(`/v1/${plural}`)).json[plural].at(-1)
    expect(listed.version).toBe(3)
  })

  it("that a change names must be the present one, or nothing changes", async () => {
    const place = newPlace()
    const path = await create(place)
    expect(versionOf(await patch(place, path, one, '"1"'))).toBe(2)
    const before = await place.get(path)
    for (const refused of [
      await patch(place, path, two, '"1"'),
      await remove(place, path, '"1"'),
    ]) {
      expect(problemOf(refused)).toEqual([412, "version_conflict"])
      expect(refused.json.version).toBe(2)
    }
    expect((await place.get(path)).json).toEqual(before.json)
    expect(versionOf(await patch(place, path, two, '"7", "2"'))).toBe(3)
    expect((await remove(place, path, '"3"')).status).toBe(204)
  })

  it("lets one of two changes at the same time win", async () => {
    const place = newPlace()
    const path = await create(place)
    const replies = await Promise.all([one, two].map((body) => patch(place, path, body, '"1"')))
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 412])
    expect((await place.get(path)).json).toMatchObject(replies[0]!.status === 200 ? one : two)
  })

  it("of something that is gone is not looked at", async () => {
    const place = newPlace()
    for (const reply of [
      await patch(place, `/v1/${plural}/none`, one, '"1"'),
      await remove(place, `/v1/${plural}/none`, "*"),
    ]) {
      expect(reply.status).toBe(404)
    }
  })

  it("that the caller has is not sent again", async () => {
    const place = newPlace()
    const path = await create(place)
    for (const known of ['"1"', 'W/"1"', '"5", "1"', "*"]) {
      const { headers, status, text } = await read(place, path, known)
      expect([known, status, text, headers.etag]).toEqual([known, 304, "", '"1"'])
    }
    await place.patch(path, one)
    expect(versionOf(await read(place, path, '"1"'))).toBe(2)
  })
})

describe("a version of the project's settings", () => {
  it("is 1 at first, the tag of replies, and decides changes", async () => {
    const place = newPlace()
    expect(versionOf(await place.get("/v1/project"))).toBe(1)
    expect(versionOf(await patch(place, "/v1/project", { name: "A" }, '"1"'))).toBe(2)
    const refused = await patch(place, "/v1/project", { name: "B" }, '"1"')
    expect([...problemOf(refused), refused.json.version]).toEqual([412, "version_conflict", 2])
    expect((await place.get("/v1/project")).json.name).toBe("A")
    expect((await read(place, "/v1/project", '"2"')).status).toBe(304)
    expect(versionOf(await read(place, "/v1/project", '"1"'))).toBe(2)
  })
})

describe("the version of all definitions", () => {
  const definitions = { rules: [{ key: "a", action: "TAP", reward: { xp: 1 } }] }
  const apply = (place: Place, ifMatch: string, delete_ = false) =>
    place.call("POST", "/v1/definitions/apply", {
      body: { definitions, delete: delete_ },
      headers: { "if-match": ifMatch },
    })

  it("grows with each change of a definition or the settings, and with no event", async () => {
    const place = newPlace()
    const tag = async () => (await place.get("/v1/definitions")).headers.etag
    const tags = [await tag()]
    const next = async (change: Promise<unknown>) => {
      await change
      tags.push(await tag())
    }
    await next(place.create("/v1/rules", { action: "TAP", reward: { xp: 1 } }))
    await next(place.create("/v1/quests", { title: "Q", reward: { xp: 1 } }))
    await next(place.create("/v1/badges", { name: "B", criteria: { kind: "manual" } }))
    await next(place.patch("/v1/project", { name: "A" }))
    await next(place.track("u", "TAP"))
    await next(place.create("/v1/webhooks", { url: "https://example.com/", events: ["*"] }))
    expect(tags).toEqual(['"1"', '"2"', '"3"', '"4"', '"5"', '"5"', '"5"'])
    expect((await read(place, "/v1/definitions", '"5"')).status).toBe(304)
  })

  it("of a comparison lets a file be applied only if nothing changed since", async () => {
    const place = newPlace()
    const compare = () => place.post("/v1/definitions/diff", { definitions })
    const seen = versionOf(await compare())
    await place.create("/v1/rules", { action: "OTHER", reward: { xp: 1 } })
    const refused = await apply(place, entityTag(seen), true)
    expect([...problemOf(refused), refused.json.version]).toEqual([412, "version_conflict", 2])
    expect((await place.get("/v1/rules")).json.total).toBe(1)
    expect((await apply(place, entityTag(versionOf(await compare())))).json.created).toBe(1)
    // A file that changes nothing is compared, too.
    expect((await apply(place, '"2"')).status).toBe(412)
    expect((await apply(place, '"3"')).json.changes).toEqual([])
  })
})

describe("If-Match", () => {
  const withRule = async () => {
    const place = newPlace()
    const id = await place.create("/v1/rules", { action: "TAP", reward: { xp: 1 } })
    return { place, path: `/v1/rules/${id}` }
  }

  it("is a list of tags or `*`; a weak tag and a tag of no version match nothing", async () => {
    const { path, place } = await withRule()
    const change = { reward: { xp: 2 } }
    for (const never of [
      'W/"1"',
      'W/"1", "2"',
      '"01"',
      '"1.0"',
      '""',
      '"*"',
      '"9007199254740993"',
    ]) {
      expect([never, (await patch(place, path, change, never)).status]).toEqual([never, 412])
    }
    let version = 1
    for (const [before, after] of [
      ["", ""],
      [" ", "\t"],
      [',"x",', ""],
      ['W/"3" ,', ' , "y"'],
    ]) {
      const reply = await patch(place, path, change, `${before}"${version}"${after}`)
      expect(versionOf(reply)).toBe(++version)
    }
    expect(versionOf(await patch(place, path, change, " * "))).toBe(version + 1)
  })

  it("of another form is refused, and so is If-None-Match", async () => {
    const { path, place } = await withRule()
    for (const bad of [
      "1",
      '"1',
      '"1" "2"',
      '"a"b',
      "w/'1'",
      '*, "1"',
      '"1", *',
      'w/"1"',
      '"ä\u0001"',
      ",",
    ]) {
      if (bad.includes("\u0001")) continue
      const replies = [
        await patch(place, path, {}, bad),
        await remove(place, path, bad),
        await read(place, path, bad),
      ]
      expect([bad, ...replies.map(faultsOf)]).toEqual([
        bad,
        [["header/if-match", "invalid_format"]],
        [["header/if-match", "invalid_format"]],
        [["header/if-none-match", "invalid_format"]],
      ])
    }
  })

  it("has at most a thousand characters, however many commas", async () => {
    const { path, place } = await withRule()
    const longest = `"1"${" ,".repeat((limits.entityTagsCharactersMax - 3) / 2)}`.padEnd(
      limits.entityTagsCharactersMax,
      ",",
    )
    expect(versionOf(await patch(place, path, { status: "paused" }, longest))).toBe(2)
    expect(faultsOf(await patch(place, path, {}, `${longest},`))).toEqual([
      ["header/if-match", "too_long"],
    ])
  })

  it("is one list when it is sent in several lines", async () => {
    const { path, place } = await withRule()
    const body = "{}"
    const reply = await server.raw(
      `PATCH ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${place.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nIf-Match: "7"\r\nif-match: "1"\r\n\r\n${body}`,
    )
    expect(reply).toMatch(/^HTTP\/1\.1 200 /)
    expect(reply).toContain('\r\nETag: "2"\r\n')
  })

  it("counts only for a change that would be made without it", async () => {
    const { path, place } = await withRule()
    await place.patch(path, { status: "paused" })
    const refused = await patch(place, path, { reward: { xp: 0 } }, '"1"')
    expect(faultsOf(refused)).toEqual([["/reward", "missing"]])
  })
})
