/** Events, rewards and spends read back: by id, in lists, by other tenants, after changes. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { recordId, recordNameOf } from "../../src/domain/values/Ids.ts"
import { limits } from "../../src/Limits.ts"
import { event as eventOf } from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { isoTime, Place, problemOf } from "./definitions.ts"
import { type Reply, startServer, type TestServer } from "./fixture.ts"

const storage = new MemoryStorage.MemoryState()
const environment = "prj_back:sandbox"
let server: TestServer
let place: Place
let other: Place

const open = async () => {
  server = await startServer({ storage })
  place = new Place(server, "back")
  other = new Place(server, "other")
}
/** Closes with a snapshot, and restarts from it. */
const restart = async () => {
  await server.stop()
  await open()
}
beforeAll(async () => {
  await open()
  const badgeId = await place.create("/v1/badges", { name: "B", criteria: { kind: "manual" } })
  const limit = { times: 1, per: "ever" }
  await place.create("/v1/rules", { action: "TAP", reward: { xp: 5, points: 40 } })
  await place.create("/v1/rules", { action: "TAP", reward: { xp: 1, badgeId }, limit })
  await other.create("/v1/rules", { action: "TAP", reward: { xp: 7 } })
})
afterAll(() => server.stop())

const ok = ({ json, status }: Reply) => {
  expect([status, json]).toEqual([200, expect.anything()])
  return json
}
const get = async (path: string) => ok(await place.get(path))
const tap = async (userId: string, more: object = {}) =>
  ok(await place.post("/v1/events", { userId, action: "TAP", ...more }))
const grant = async (userId: string, more: object = {}) =>
  ok(await place.post(`/v1/users/${userId}/rewards`, { type: "points", amount: 50, ...more }))
const spend = async (userId: string, more: object = {}) =>
  ok(await place.post(`/v1/users/${userId}/points/spend`, { amount: 10, ...more }))
const notRevoked = { revoked: false, revokedAt: null }
const revoked = { revoked: true, revokedAt: expect.stringMatching(isoTime) }
const eventNotFound = [404, "event_not_found"]

describe("GET /v1/events/:id", () => {
  it("returns the event with what it gave, its metadata and its own id", async () => {
    const metadata = { where: "home", deep: { n: [1, null] } }
    const { duplicate, ...first } = await tap("ada", { id: "own", metadata })
    expect(first.badges).toHaveLength(1)
    const read = await get(`/v1/events/${first.eventId}`)
    expect(read).toMatchObject({ ...first, id: "own", metadata, imported: false, ...notRevoked })
    const { duplicate: _, ...second } = await tap("ada")
    expect(second.withheld).toMatchObject([{ reason: "limit" }])
    expect(await get(`/api/v1/events/${second.eventId}`)).toMatchObject({
      ...second,
      id: null,
      metadata: null,
      ...notRevoked,
    })
    // Later events do not change what an event gave.
    expect(await get(`/v1/events/${first.eventId}`)).toEqual(read)
    const misspelt = ok(await place.track("ada", "TUP"))
    expect(await get(`/v1/events/${misspelt.eventId}`)).toMatchObject({ matched: false })
  })

  it("says when the event occurred, and whether it was imported", async () => {
    const occurredAt = "2020-02-03T04:05:06.000Z"
    const { results } = ok(
      await place.post("/v1/events/import", {
        events: [{ userId: "old", action: "TAP", occurredAt }],
      }),
    )
    const read = await get(`/v1/events/${results[0].eventId}`)
    expect(read).toMatchObject({ occurredAt, imported: true })
    expect(read.receivedAt > occurredAt).toBe(true)
  })

  it("says whether the event was revoked, also after a snapshot and a restart", async () => {
    const [one, two] = [await tap("undone"), await tap("undone", { id: "own" })]
    ok(await place.delete(`/v1/users/undone/events/${one.eventId}`))
    const check = async () => {
      const read = await get(`/v1/events/${one.eventId}`)
      expect(read).toMatchObject({ xp: one.xp, ...revoked })
      expect(read.revokedAt >= read.receivedAt).toBe(true)
      expect(await get(`/v1/events/${two.eventId}`)).toMatchObject(notRevoked)
    }
    await check()
    await restart()
    await check()
    ok(await place.delete("/v1/users/undone/events/own"))
    expect(await get(`/v1/events/${two.eventId}`)).toMatchObject(revoked)
  })

  it("finds nothing for a forged id, or one of another kind or environment", async () => {
    const mine = await tap("forger")
    const foreign = ok(await other.track("victim", "TAP"))
    const reward = await grant("forger")
    const spent = await spend("forger")
    const { at, sequence } = recordNameOf("evt", mine.eventId)!
    const theirs = recordNameOf("evt", foreign.eventId)!
    const last = recordNameOf("spd", spent.spendId)!.sequence
    const ids = [
      foreign.eventId,
      recordId("evt", { at, sequence: theirs.sequence }),
      recordId("evt", { at: at + 1, sequence }),
      recordId("evt", { at: at - 1, sequence }),
      recordId("evt", { at, sequence: last + 1_000 }),
      recordId("evt", { at, sequence: Number.MAX_SAFE_INTEGER }),
      reward.rewardId,
      reward.rewardId.replace("rwd", "evt"),
      spent.spendId.replace("spd", "evt"),
      mine.eventId.toUpperCase(),
      mine.eventId.replace("evt_", "evt_0"),
      `${mine.eventId}0`,
      mine.eventId.slice(4),
      "own",
      "evt_",
      "😀",
      "%00",
      "x".repeat(1_000),
    ]
    // Records of definitions, and of every user of both environments.
    for (let back = 0; back <= last; back++) {
      if (back !== sequence) ids.push(recordId("evt", { at, sequence: back }))
    }
    for (const id of ids) {
      const path = `/v1/events/${id === "%00" ? id : encodeURIComponent(id)}`
      expect([id, ...problemOf(await place.get(path))]).toEqual([id, ...eventNotFound])
    }
    expect((await get(`/v1/events/${mine.eventId}`)).userId).toBe("forger")
    const seen = await Promise.all(
      [...new Set(ids)].map((id) => other.get(`/v1/events/${encodeURIComponent(id)}`)),
    )
    expect(seen.filter(({ status }) => status === 200).map(({ json }) => json.eventId)).toEqual([
      foreign.eventId,
    ])
  })

  it("answers alike for unknown, foreign, erased and pruned events", async () => {
    const foreign = ok(await other.track("victim", "TAP"))
    const erased = await tap("erased")
    const pruned = await tap("pruned")
    await place.delete("/v1/users/erased")
    const again = await tap("erased")
    expect((await get(`/v1/events/${again.eventId}`)).userId).toBe("erased")
    await server.stop()
    const { sequence } = recordNameOf("evt", pruned.eventId)!
    await Effect.runPromise(MemoryStorage.make({ state: storage }).prune(sequence + 1))
    await open()
    const kept = await tap("kept")
    expect((await get(`/v1/events/${kept.eventId}`)).userId).toBe("kept")
    const replies: Array<object> = []
    for (const id of ["evt_0mi8k3f2a4c92", foreign.eventId, erased.eventId, pruned.eventId]) {
      const { json, status } = await place.get(`/v1/events/${id}`)
      const { instance: _, requestId: __, ...same } = json
      replies.push({ status, ...same })
    }
    for (const reply of replies) expect(reply).toEqual(replies[0])
    expect(replies[0]).toMatchObject({ status: 404, code: "event_not_found" })
  })

  it("finds no event that was refused, even if its refusal is kept", async () => {
    const userId = "refused"
    await tap(userId)
    const body = { userId, action: "QUEST_COMPLETE", metadata: { questId: "none" } }
    const headers = { "idempotency-key": "refused-1" }
    const { status } = await place.call("POST", "/v1/events", { body, headers })
    expect(status).toBe(404)
    const { facts } = await get(`/v1/users/${userId}/history`)
    const record = recordNameOf("evt", facts[0].cause.eventId)!
    for (const later of [1, 2]) {
      const next = { sequence: record.sequence + later, at: record.at }
      for (let at = record.at; at < record.at + 5; at++) {
        const id = recordId("evt", { ...next, at })
        expect(problemOf(await place.get(`/v1/events/${id}`))).toEqual(eventNotFound)
      }
    }
  })
})

const kinds = [
  { kind: "reward", list: "rewards", path: "rewards", give: grant },
  { kind: "spend", list: "spends", path: "points/spend", give: spend },
] as const

describe.each(kinds)("The $list of a user", ({ give, kind, list, path }) => {
  const idOf = (item: Readonly<Record<string, unknown>>): unknown => item[`${kind}Id`]
  const notFound = [404, `${kind}_not_found`]
  const base = (userId: string) => `/v1/users/${userId}/${path}`

  it("are listed newest first with what they gave, among other records", async () => {
    const userId = `all-${kind}`
    await grant(userId, { amount: 1_000 })
    await tap(userId)
    const given: Array<Readonly<Record<string, unknown>>> = []
    for (let turn = 0; turn < 5; turn++) {
      await tap(userId)
      given.push(await give(userId, { id: `own-${turn}`, reason: `r${turn}` }))
      await (kind === "reward" ? spend : tap)(userId)
    }
    const whole = (await get(base(userId)))[list]
    const own = whole.filter(({ id }: { id: string | null }) => id !== null)
    const expected = given.map(({ duplicate: _, ...outcome }, turn) => ({
      ...outcome,
      id: `own-${turn}`,
      reason: `r${turn}`,
      ...notRevoked,
    }))
    expect(own).toMatchObject(expected.reverse())
    for (const item of whole) {
      expect(await get(`${base(userId)}/${idOf(item)}`)).toEqual(item)
    }
    for (const limit of [1, 2, 4, 6]) {
      const pages = []
      for (let cursor = ""; ; ) {
        const page = await get(`${base(userId)}?limit=${limit}${cursor}`)
        pages.push(page[list])
        if (page.nextCursor === null) break
        cursor = `&cursor=${page.nextCursor}`
        // New ones do not move the others.
        await give(userId)
      }
      const known = pages
        .flat()
        .filter((item) =>
          own.some((each: Readonly<Record<string, unknown>>) => idOf(each) === idOf(item)),
        )
      expect(known.map(idOf)).toEqual(own.map(idOf))
      expect(pages.slice(0, -1).every((items) => items.length === limit)).toBe(true)
    }
  })

  it("are found by both ids, and tell whether they were revoked", async () => {
    const userId = `both-${kind}`
    await grant(userId, { amount: 1_000 })
    const first = await give(userId, { id: "own" })
    const second = await give(userId, { id: "a/b?c#%" })
    const read = await get(`${base(userId)}/own`)
    expect(idOf(read)).toBe(idOf(first))
    expect(await get(`${base(userId)}/${idOf(first)}`)).toEqual(read)
    expect(idOf(await get(`${base(userId)}/${encodeURIComponent("a/b?c#%")}`))).toBe(idOf(second))
    ok(await place.delete(`${base(userId)}/own`))
    const check = async () => {
      expect(await get(`${base(userId)}/own`)).toEqual({ ...read, ...revoked })
      const found = (await get(base(userId)))[list].slice(0, 2)
      expect(found).toMatchObject([notRevoked, revoked])
    }
    await check()
    await restart()
    await check()
  })

  it("are hidden from other users and environments, and gone with the user", async () => {
    const userId = `hidden-${kind}`
    await grant(userId, { amount: 1_000 })
    await grant("neighbour", { amount: 1_000 })
    await other.post(`/v1/users/${userId}/rewards`, { type: "points", amount: 1_000 })
    const mine = await give(userId, { id: "own" })
    for (const id of [String(idOf(mine)), "own"]) {
      expect(problemOf(await place.get(`${base("neighbour")}/${id}`))).toEqual(notFound)
      expect(problemOf(await other.get(`${base(userId)}/${id}`))).toEqual(notFound)
      expect(problemOf(await place.get(`${base("nobody")}/${id}`))).toEqual(notFound)
    }
    expect((await other.get(base(userId))).json[list].map(idOf)).not.toContain(idOf(mine))
    expect(problemOf(await place.get(base("nobody")))).toEqual([404, "user_not_found"])
    const event = await tap(userId)
    for (const id of [event.eventId, String(idOf(mine)).replace(/^.../, "evt"), "", "evt_"]) {
      const { status } = await place.get(`${base(userId)}/${id}`)
      expect([id, status >= 400 && status < 500]).toEqual([id, true])
    }
    await place.delete(`/v1/users/${userId}`)
    expect(problemOf(await place.get(base(userId)))).toEqual([404, "user_not_found"])
    await grant(userId, { amount: 20 })
    for (const id of [String(idOf(mine)), "own"]) {
      expect(problemOf(await place.get(`${base(userId)}/${id}`))).toEqual(notFound)
    }
    expect((await get(base(userId)))[list].map(idOf)).not.toContain(idOf(mine))
  })

  it("are found at the far end of a long history of events", async () => {
    const userId = `long-${kind}`
    await grant(userId, { amount: 1_000 })
    const first = await give(userId, { id: "first" })
    const count = limits.historyScanRecordsMax + 5
    for (let sent = 0; sent < count; sent += 500) {
      const messages = Array.from({ length: Math.min(500, count - sent) }, () =>
        eventOf(userId, "A"),
      )
      await Effect.runPromise(server.engine.askUsers(environment, messages))
    }
    const newest = await give(userId)
    const page = await get(`${base(userId)}?limit=1`)
    expect([page[list].map(idOf), page.hasMore]).toEqual([[idOf(newest)], true])
    const rest = await get(`${base(userId)}?limit=1&cursor=${page.nextCursor}`)
    expect(rest[list].map(idOf).at(0)).toBe(idOf(first))
  })
})
