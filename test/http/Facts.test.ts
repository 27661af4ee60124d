/** The facts of all users over HTTP, page by page. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { cursorOf } from "../../src/http/api/Cursor.ts"
import { limits } from "../../src/Limits.ts"
import { limitedInFile } from "../limited.ts"
import { faultsOf, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

limitedInFile({ factsScanRecordsMax: 12, factsPageBytesMax: 8_000 })

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

interface UserFact {
  readonly userId: string
  readonly number: number
  readonly fact: { readonly kind: string; readonly sequence: number; readonly at: string }
}

let places = 0
/** A place whose name gives its environment. */
const newPlace = async () => {
  const name = `facts${places++}`
  const place = Object.assign(new Place(server, name), { environment: `prj_${name}:sandbox` })
  await place.post("/v1/rules", { action: "RUN", reward: { xp: 60, points: 1 } })
  return place
}

/** All pages from `cursor` on. */
const readAll = async (place: Place, limit = 100, cursor?: string) => {
  const facts: Array<UserFact> = []
  const erased: Array<{ readonly userId: string; readonly sequence: number }> = []
  for (let next = cursor; ; ) {
    const query = next === undefined ? "" : `&cursor=${next}`
    const { json, status } = await place.get(`/v1/facts?limit=${limit}${query}`)
    expect(status).toBe(200)
    facts.push(...json.facts)
    erased.push(...json.erased)
    next = json.nextCursor
    if (!json.hasMore) return { facts, erased, cursor: json.nextCursor as string }
  }
}

const historyOf = async (place: Place, userId: string) =>
  (await place.get(`/v1/users/${userId}/history?limit=100`)).json.facts

const inOrder = (facts: ReadonlyArray<UserFact>): boolean =>
  facts.every(({ fact, number }, index) => {
    const before = facts[index - 1]
    if (before === undefined) return true
    const { sequence } = before.fact
    return sequence < fact.sequence || (sequence === fact.sequence && before.number < number)
  })

describe("The facts of all users", () => {
  it("are those of every history, in order and once, in pages of any size, imported ones too", async () => {
    const [place, other] = [await newPlace(), await newPlace()]
    for (let round = 0; round < 8; round++) {
      for (const user of ["ann", "bob"]) await place.track(user, "RUN")
      await other.track("ann", "RUN")
    }
    await place.post("/v1/events/import", {
      events: [{ userId: "cyd", action: "RUN", occurredAt: "2020-01-01T00:00:00.000Z" }],
    })
    await place.post("/v1/users/ann/merge", { into: "bob" })
    const whole = await readAll(place)
    const histories = [...(await historyOf(place, "bob")), ...(await historyOf(place, "cyd"))]
    const key = (fact: unknown) => JSON.stringify(fact)
    expect(whole.facts.map(({ fact }) => key(fact)).sort()).toEqual(histories.map(key).sort())
    expect(inOrder(whole.facts)).toBe(true)
    expect(new Set(whole.facts.map(({ userId }) => userId))).toEqual(new Set(["ann", "bob", "cyd"]))
    for (const limit of [1, 3, 7]) expect(await readAll(place, limit)).toEqual(whole)
  })

  it("go on after the last page with what is decided later", async () => {
    const place = await newPlace()
    await place.track("ann", "RUN")
    const { cursor } = await readAll(place)
    const none = await readAll(place, 100, cursor)
    expect(none.facts).toEqual([])
    await place.track("ann", "RUN")
    const { facts } = await readAll(place, 100, none.cursor)
    const latest = Math.max(...facts.map(({ fact }) => fact.sequence))
    expect(facts.every(({ fact }) => fact.sequence === latest)).toBe(true)
    expect(facts.map(({ fact }) => fact.kind)).toContain("xp.earned")
  })

  it("have nothing of an erased user, and name the user and what to delete", async () => {
    const place = await newPlace()
    for (const user of ["ann", "bob"]) await place.track(user, "RUN")
    const before = await readAll(place)
    await place.call("DELETE", "/v1/users/ann")
    await place.track("ann", "RUN")
    const after = await readAll(place, 100, before.cursor)
    expect(after.erased.map(({ userId }) => userId)).toEqual(["ann"])
    const { sequence } = after.erased[0]!
    const whole = await readAll(place)
    const ofAnn = whole.facts.filter(({ userId }) => userId === "ann")
    expect(ofAnn.length).toBeGreaterThan(0)
    expect(ofAnn.every(({ fact }) => fact.sequence > sequence)).toBe(true)
    const kept = before.facts.filter(
      ({ fact, userId }) => userId !== "ann" || fact.sequence >= sequence,
    )
    expect([...kept, ...after.facts]).toEqual(whole.facts)
  })

  it("refuse a cursor that the journal does not have, and a limit out of range", async () => {
    const place = await newPlace()
    await place.track("ann", "RUN")
    const { cursor, facts } = await readAll(place)
    const { fact } = facts.at(-1)!
    const other = await newPlace()
    expect(faultsOf(await other.get(`/v1/facts?cursor=${cursor}`))).toEqual([
      ["query/cursor", "invalid_value"],
    ])
    const at = Date.parse(fact.at)
    for (const forged of [
      [fact.sequence, at + 1],
      [10_000_000, at],
    ] as const) {
      const text = cursorOf("facts", place.environment, {}, forged)
      expect(problemOf(await place.get(`/v1/facts?cursor=${text}`))).toEqual([410, "gone"])
    }
    const good = cursorOf("facts", place.environment, {}, [fact.sequence, at])
    expect((await place.get(`/v1/facts?cursor=${good}`)).status).toBe(200)
    expect((await place.get(`/v1/facts?limit=${limits.factsPageMax}`)).status).toBe(200)
    for (const limit of [0, limits.factsPageMax + 1]) {
      expect(faultsOf(await place.get(`/v1/facts?limit=${limit}`))).toEqual([
        ["query/limit", "out_of_range"],
      ])
    }
  })

  it("end a page after so many records, whoever they belong to", async () => {
    const [place, other] = [await newPlace(), await newPlace()]
    const { cursor } = await readAll(place)
    for (let round = 0; round < limits.factsScanRecordsMax; round++) await other.track("u", "RUN")
    await place.track("ann", "RUN")
    const first = (await place.get(`/v1/facts?cursor=${cursor}`)).json
    expect([first.facts, first.hasMore]).toEqual([[], true])
    const second = (await place.get(`/v1/facts?cursor=${first.nextCursor}`)).json
    expect(second.facts.length).toBeGreaterThan(0)
    expect(second.hasMore).toBe(false)
  })

  it("end a page after records of so many bytes", async () => {
    const place = await newPlace()
    const { cursor } = await readAll(place)
    for (let round = 0; round < 3; round++) {
      await place.track("ann", "WROTE", { text: "a".repeat(limits.factsPageBytesMax / 2) })
    }
    const first = (await place.get(`/v1/facts?cursor=${cursor}`)).json
    const sequences = new Set(first.facts.map(({ fact }: UserFact) => fact.sequence))
    expect([sequences.size, first.hasMore]).toEqual([2, true])
  })

  it("end a page without a limit after the default number, with a whole record", async () => {
    const place = await newPlace()
    const { cursor } = await readAll(place)
    for (let round = 0; round < 10; round++) await place.track("ann", "RUN")
    const { facts, hasMore } = (await place.get(`/v1/facts?cursor=${cursor}`)).json
    const last = facts.at(-1).fact.sequence
    const before = facts.filter(({ fact }: UserFact) => fact.sequence !== last)
    expect(facts.length).toBeGreaterThanOrEqual(limits.pageDefault)
    expect(before.length).toBeLessThan(limits.pageDefault)
    expect(hasMore).toBe(true)
  })
})
