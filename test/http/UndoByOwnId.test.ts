/** Undo by the caller's own id, over HTTP: of events, rewards and spends, beside Laurel's ids. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { MemoryState } from "../storage/MemoryStorage.ts"
import { isoTime, Place, problemOf } from "./definitions.ts"
import { type Reply, startServer, type TestServer } from "./fixture.ts"

const storage = new MemoryState()
let server: TestServer
let place: Place

const open = async () => {
  server = await startServer({ storage })
  place = new Place(server, "undo")
}
/** Closes with a snapshot, and restarts from it. */
const restart = async () => {
  await server.stop()
  await open()
}
beforeAll(async () => {
  await open()
  await place.create("/v1/rules", { action: "TAP", reward: { xp: 5 } })
})
afterAll(() => server.stop())

type Kind = "event" | "reward" | "spend"
const kinds: ReadonlyArray<Kind> = ["event", "reward", "spend"]

const give = (userId: string, kind: Kind, id?: string): Promise<Reply> => {
  switch (kind) {
    case "event":
      return place.post("/v1/events", { userId, action: "TAP", id })
    case "reward":
      return place.post(`/v1/users/${userId}/rewards`, { type: "points", amount: 50, id })
    case "spend":
      return place.post(`/v1/users/${userId}/points/spend`, { amount: 10, id })
  }
}
const folder = { event: "events", reward: "rewards", spend: "points/spend" }
const pathOf = (userId: string, kind: Kind, id: string) =>
  `/v1/users/${userId}/${folder[kind]}/${encodeURIComponent(id)}`
const undo = (userId: string, kind: Kind, id: string) => place.delete(pathOf(userId, kind, id))
/** Laurel's id in a reply. */
const idIn = (kind: Kind, { json, status }: Reply): string => {
  expect([status, json]).toEqual([200, expect.anything()])
  return json[`${kind}Id`]
}
const notFound = (kind: Kind) => [404, `${kind}_not_found`]
const balancesOf = async (userId: string) => {
  const { points, xp } = (await place.get(`/v1/users/${userId}`)).json
  return { xp, points }
}

describe("Undo by the caller's own id", () => {
  it("undoes once and returns Laurel's id, which then finds nothing, and vice versa", async () => {
    for (const kind of kinds) {
      const userId = `once-${kind}`
      await give(userId, "reward")
      const before = await balancesOf(userId)
      const first = idIn(kind, await give(userId, kind, "own-1"))
      const second = idIn(kind, await give(userId, kind, "own-2"))
      expect(idIn(kind, await undo(userId, kind, "own-1"))).toBe(first)
      expect(idIn(kind, await undo(userId, kind, second))).toBe(second)
      for (const id of ["own-1", first, "own-2", second]) {
        const again = await undo(userId, kind, id)
        expect(problemOf(again)).toEqual(notFound(kind))
        expect(again.json).toMatchObject({
          revokedAt: expect.stringMatching(isoTime),
          detail: expect.stringContaining("was already revoked"),
        })
      }
      const unknown = await undo(userId, kind, "own-3")
      expect(problemOf(unknown)).toEqual(notFound(kind))
      expect(unknown.json).not.toHaveProperty("revokedAt")
      expect(await balancesOf(userId)).toEqual(before)
      // The id stays used, so a late repeat gives nothing.
      expect((await give(userId, kind, "own-1")).json.duplicate).toBe(true)
      expect(await balancesOf(userId)).toEqual(before)
    }
  })

  it("takes any id that an event can have", async () => {
    for (const id of ["a/b?c#d%2F e", "😀", "é", "e\u0301", "evt_", "0", "x".repeat(128)]) {
      const eventId = idIn("event", await give("odd", "event", id))
      expect(idIn("event", await undo("odd", "event", id))).toBe(eventId)
    }
    expect(problemOf(await undo("odd", "event", "x".repeat(129)))).toEqual(notFound("event"))
    expect((await balancesOf("odd")).xp).toBe(0)
  })

  it("finds ids in the snapshot after a restart, and earlier undos stay", async () => {
    for (const kind of kinds) {
      const userId = `restarted-${kind}`
      await give(userId, "reward")
      const ids: Record<string, string> = {}
      for (const own of ["undone", "snapshotted"]) {
        ids[own] = idIn(kind, await give(userId, kind, own))
      }
      await undo(userId, kind, "undone")
      await restart()
      expect(problemOf(await undo(userId, kind, "undone"))).toEqual(notFound(kind))
      expect(idIn(kind, await undo(userId, kind, "snapshotted"))).toBe(ids.snapshotted)
      await restart()
      expect(problemOf(await undo(userId, kind, "snapshotted"))).toEqual(notFound(kind))
    }
  })

  it("finds only ids of this user, environment and kind", async () => {
    await give("ada", "reward")
    for (const kind of kinds) await give("ada", kind, `of-${kind}`)
    const before = await balancesOf("ada")
    const other = new Place(server, "undo_other")
    await other.post("/v1/events", { userId: "ada", action: "TAP" })
    await give("bob", "event")
    for (const isRestarted of [false, true]) {
      if (isRestarted) await restart()
      for (const kind of kinds) {
        const id = `of-${kind}`
        for (const wrong of kinds.filter((each) => each !== kind)) {
          expect(problemOf(await undo("ada", wrong, id))).toEqual(notFound(wrong))
        }
        for (const userId of ["bob", "nobody"]) {
          expect(problemOf(await undo(userId, kind, id))).toEqual(notFound(kind))
        }
        const elsewhere = new Place(server, "undo_other")
        const reply = await elsewhere.delete(pathOf("ada", kind, id))
        expect(problemOf(reply)).toEqual(notFound(kind))
      }
    }
    expect(await balancesOf("ada")).toEqual(before)
    expect(problemOf(await place.get("/v1/users/nobody"))).toEqual([404, "user_not_found"])
  })

  it("finds no ids from before an erasure, and those from after it", async () => {
    for (const id of ["gone", "again"]) await give("eve", "event", id)
    await place.delete("/v1/users/eve")
    expect(problemOf(await undo("eve", "event", "gone"))).toEqual(notFound("event"))
    const eventId = idIn("event", await give("eve", "event", "again"))
    await restart()
    expect(problemOf(await undo("eve", "event", "gone"))).toEqual(notFound("event"))
    expect(idIn("event", await undo("eve", "event", "again"))).toBe(eventId)
    expect((await balancesOf("eve")).xp).toBe(0)
  })

  it("succeeds once for 50 requests at once, by either id", async () => {
    const eventId = idIn("event", await give("racer", "event", "raced"))
    await give("racer", "event", "kept")
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, n) => undo("racer", "event", n % 2 ? eventId : "raced")),
    )
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
    expect((await balancesOf("racer")).xp).toBe(5)
  })
})

describe("An own id that looks like one of Laurel's", () => {
  it("is found if no record of the user has that id from Laurel", async () => {
    for (const kind of kinds) {
      const userId = `alike-${kind}`
      await give(userId, "reward")
      await give("alike-other", "reward")
      // Laurel's id of another user's record, and of a record of another kind.
      const foreign = idIn(kind, await give("alike-other", kind))
      const prefix = foreign.slice(0, 4)
      const otherKind = idIn("event", await give(userId, "event")).replace("evt_", prefix)
      const alike = [foreign, `${prefix}0mws0r6qh4`, `${prefix}${"z".repeat(20)}`]
      if (kind !== "event") alike.push(otherKind)
      for (const own of alike) {
        const id = idIn(kind, await give(userId, kind, own))
        expect(idIn(kind, await undo(userId, kind, own))).toBe(id)
        expect(problemOf(await undo(userId, kind, own))).toEqual(notFound(kind))
      }
    }
  })

  it("means the record with Laurel's id if the user has both, even after that record was undone", async () => {
    for (const kind of kinds) {
      const userId = `both-${kind}`
      await give(userId, "reward")
      const first = idIn(kind, await give(userId, kind))
      const second = idIn(kind, await give(userId, kind, first))
      expect(second).not.toBe(first)
      for (const isRestarted of [false, true]) {
        if (isRestarted) await restart()
        const reply = await undo(userId, kind, first)
        if (isRestarted) expect(problemOf(reply)).toEqual(notFound(kind))
        else expect(idIn(kind, reply)).toBe(first)
        expect(problemOf(await undo(userId, kind, first))).toEqual(notFound(kind))
      }
      expect(idIn(kind, await undo(userId, kind, second))).toBe(second)
    }
  })
})
