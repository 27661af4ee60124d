/**
 * Lists by cursor: every list but that of deliveries (`WebhookOperations.test.ts`), two environments, hostile cursors, changes between pages.
 */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import {
  checksumOf,
  cursorOf,
  type Filters,
  type ListName,
  type Position,
  positionIn,
} from "../../src/http/api/Cursor.ts"
import {
  badgeId,
  boostId,
  currencyId,
  exampleCursors,
  experimentId,
  goalId,
  itemId,
  leaderboardId,
  leagueId,
  metricId,
  projectId,
  questId,
  ruleId,
  segmentId,
  sourceId,
  streakId,
  teamId,
  time,
  userId,
  webhookId,
} from "../../src/http/api/examples/exampleIds.ts"
import { limits } from "../../src/Limits.ts"
import { event } from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { faultsOf, Place } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

const quest = (title: string) => ({ title, reward: { xp: 1 } })
const badge = (name: string) => ({ name, criteria: { kind: "manual" } })
const rule = (action: string) => ({ action, reward: { xp: 1 } })
const boost = (name: string) => ({ name, currencies: ["xp"], factor: 2 })
const webhook = (name: string) => ({ url: `https://example.com/${name}`, events: ["quest.*"] })
const letters = ["A", "B", "C", "D", "E"]

/** A list of the API in an environment with five items of each kind. */
interface List {
  readonly name: ListName
  readonly path: string
  readonly items: string
  /** Another value of each filter. */
  readonly filtered: ReadonlyArray<string>
}

const fill = async (place: Place): Promise<ReadonlyArray<List>> => {
  for (const letter of letters) {
    await place.create("/v1/quests", quest(letter))
    await place.create("/v1/badges", badge(letter))
    await place.create("/v1/rules", rule(`RULE_${letter}`))
    await place.create("/v1/boosts", boost(letter))
    await place.track(`user-${letter}`, `ACTION_${letter}`)
    await place.track("user-A", "AGAIN")
  }
  for (const letter of letters) await place.create("/v1/webhooks", webhook(letter))
  return [
    { name: "users", path: "/v1/users", items: "users", filtered: ["query=user"] },
    { name: "quests", path: "/v1/quests", items: "quests", filtered: ["status=active"] },
    { name: "badges", path: "/v1/badges", items: "badges", filtered: ["status=active"] },
    { name: "rules", path: "/v1/rules", items: "rules", filtered: [] },
    { name: "boosts", path: "/v1/boosts", items: "boosts", filtered: ["status=active"] },
    { name: "webhooks", path: "/v1/webhooks", items: "webhooks", filtered: [] },
    { name: "actions", path: "/v1/actions", items: "actions", filtered: [] },
    {
      name: "history",
      path: "/v1/users/user-A/history",
      items: "facts",
      filtered: ["kind=event.tracked"],
    },
  ]
}

/** The pages of a list, each with at most `limit` items. */
const pagesOf = async (place: Place, { items, path }: List, limit: number, query = "") => {
  // biome-ignore lint/suspicious/noExplicitAny: the items of a list of any kind
  const pages: Array<ReadonlyArray<any>> = []
  const cursors: Array<string> = []
  for (let cursor = ""; ; ) {
    const { json, status } = await place.get(`${path}?limit=${limit}${query}${cursor}`)
    expect([path, status]).toEqual([path, 200])
    pages.push(json[items])
    expect(json.hasMore).toBe(json.nextCursor !== null)
    expect(json[items].length).toBeLessThanOrEqual(limit)
    if (json.nextCursor === null) return { pages, cursors }
    expect(json[items]).not.toEqual([])
    cursors.push(json.nextCursor)
    cursor = `&cursor=${json.nextCursor}`
  }
}

describe("Each list", () => {
  it("has the same items in pages of any size", async () => {
    const place = new Place(server, "sizes")
    for (const list of await fill(place)) {
      const whole = (await pagesOf(place, list, 100)).pages.flat()
      expect([list.name, whole.length >= 5]).toEqual([list.name, true])
      for (const limit of [1, 2, 3, whole.length]) {
        const { pages } = await pagesOf(place, list, limit)
        expect([list.name, pages.flat()]).toEqual([list.name, whole])
        expect([list.name, pages.length]).toEqual([list.name, Math.ceil(whole.length / limit)])
      }
    }
  })

  it("refuses a cursor of another list, of other filters, of another environment", async () => {
    const [place, other] = [new Place(server, "mine"), new Place(server, "theirs")]
    const lists = await fill(place)
    const others = await fill(other)
    const cursors = new Map<string, string>()
    for (const list of lists) {
      cursors.set(list.name, (await pagesOf(place, list, 2)).cursors[0]!)
    }
    for (const [index, list] of lists.entries()) {
      for (const [name, cursor] of cursors) {
        const foreign = await other.get(`${others[index]!.path}?cursor=${cursor}`)
        expect(faultsOf(foreign)).toEqual([["query/cursor", "invalid_value"]])
        if (name === list.name) continue
        const mixed = await place.get(`${list.path}?cursor=${cursor}`)
        expect(faultsOf(mixed)).toEqual([["query/cursor", "invalid_value"]])
      }
      for (const filter of list.filtered) {
        const filtered = await place.get(`${list.path}?${filter}&cursor=${cursors.get(list.name)}`)
        expect(faultsOf(filtered)).toEqual([["query/cursor", "invalid_value"]])
        expect(filtered.json.detail).toContain("begin again with the first page")
      }
    }
    const history = await place.get(`/v1/users/user-B/history?cursor=${cursors.get("history")}`)
    expect(faultsOf(history)).toEqual([["query/cursor", "invalid_value"]])
  })

  it("refuses a damaged cursor, and one of another version", async () => {
    const place = new Place(server, "damaged")
    for (const list of await fill(place)) {
      const [cursor] = (await pagesOf(place, list, 2)).cursors
      const codes = async (text: string) =>
        faultsOf(await place.get(`${list.path}?cursor=${encodeURIComponent(text)}`))
      const middle = cursor!.length >> 1
      const changed = cursor![middle] === "A" ? "B" : "A"
      const damaged = [
        "",
        "1",
        "x",
        cursor!.slice(1),
        cursor!.slice(0, -1),
        `${cursor}A`,
        `${cursor}=`,
        ` ${cursor}`,
        `${cursor!.slice(0, middle)}${changed}${cursor!.slice(middle + 1)}`,
        `${cursor!.slice(0, middle)}!${cursor!.slice(middle)}`,
      ]
      for (const text of damaged) {
        expect([text, await codes(text)]).toEqual([text, [["query/cursor", "invalid_format"]]])
      }
      expect(await codes(`2${cursor!.slice(1)}`)).toEqual([["query/cursor", "invalid_value"]])
      const most = limits.cursorCharactersMax
      expect(await codes("1".padEnd(most, "A"))).toEqual([["query/cursor", "invalid_format"]])
      expect(await codes("1".padEnd(most + 1, "A"))).toEqual([["query/cursor", "too_long"]])
    }
  })

  it("neither repeats nor leaves out an item because of new ones", async () => {
    const place = new Place(server, "inserts")
    for (const list of await fill(place)) {
      const before = (await pagesOf(place, list, 100)).pages.flat()
      const first = (await place.get(`${list.path}?limit=2`)).json
      await place.create("/v1/quests", quest(`new ${list.name}`))
      await place.create("/v1/badges", badge(`new ${list.name}`))
      await place.create("/v1/rules", rule(`NEW_${list.name.toUpperCase()}`))
      await place.create("/v1/boosts", boost(`new ${list.name}`))
      await place.create("/v1/webhooks", webhook(`new-${list.name}`))
      for (const id of ["user-0", "user-AA", "user-Z"])
        await place.track(id, `A_${list.items}`.toUpperCase())
      await place.track("user-A", "NEWER")
      const rest = (await place.get(`${list.path}?limit=100&cursor=${first.nextCursor}`)).json
      const known = (items: ReadonlyArray<object>) =>
        items.map(keyOf).filter((key) => before.some((item) => keyOf(item) === key))
      expect([list.name, known([...first[list.items], ...rest[list.items]])]).toEqual([
        list.name,
        before.map(keyOf),
      ])
    }
  })

  it("continues after a definition or a user that was removed between two pages", async () => {
    const place = new Place(server, "removed")
    for (const list of await fill(place)) {
      if (list.name === "users") {
        const first = (await place.get("/v1/users?limit=2")).json
        await place.delete("/v1/users/user-B")
        const { users } = (await place.get(`/v1/users?cursor=${first.nextCursor}`)).json
        expect(users.map(keyOf)).toEqual(["user-C", "user-D", "user-E"])
      }
      if (list.name !== "webhooks") continue
      const whole = (await place.get(list.path)).json.webhooks
      const first = (await place.get(`${list.path}?limit=2`)).json
      await place.delete(`/v1/webhooks/${first.webhooks[1].id}`)
      const rest = (await place.get(`${list.path}?cursor=${first.nextCursor}`)).json.webhooks
      // Webhooks of the same millisecond may come again.
      const later = rest.map(keyOf).filter((id: string) => id !== first.webhooks[0].id)
      expect(later).toEqual(whole.slice(2).map(keyOf))
    }
  })
})

/** What distinguishes the items of a list. */
// biome-ignore lint/suspicious/noExplicitAny: the items of a list of any kind
const keyOf = (item: any): string => item.id ?? item.action ?? `${item.sequence} ${item.kind}`

describe("A cursor", () => {
  it("is good after a snapshot and a restart", async () => {
    const storage = new MemoryStorage.MemoryState()
    const first = await startServer({ storage })
    const lists = await fill(new Place(first, "restarted"))
    const found = new Map<string, ReadonlyArray<string>>()
    const cursors = new Map<string, string>()
    for (const list of lists) {
      const { cursors: ends, pages } = await pagesOf(new Place(first, "restarted"), list, 3)
      found.set(list.name, pages.flat().slice(3).map(keyOf))
      cursors.set(list.name, ends[0]!)
    }
    // A stop takes a snapshot.
    await first.stop()
    const second = await startServer({ storage })
    const place = new Place(second, "restarted")
    for (const list of lists) {
      const { json } = await place.get(`${list.path}?limit=100&cursor=${cursors.get(list.name)}`)
      expect([list.name, json[list.items].map(keyOf)]).toEqual([list.name, found.get(list.name)])
    }
    await second.stop()
  })

  it("may be made by anybody, and then shows no more than the list", async () => {
    const place = new Place(server, "forged")
    await fill(place)
    const forge = (environment: string, filters: Filters, position: ReadonlyArray<unknown>) =>
      cursorOf("users", environment, filters, position as unknown as Position<"users">)
    const own = (position: ReadonlyArray<unknown>) => forge("prj_forged:sandbox", {}, position)
    const { json } = await place.get(`/v1/users?cursor=${own(["user-C"])}`)
    expect(json.users.map(keyOf)).toEqual(["user-D", "user-E"])
    // The largest and the smallest positions.
    for (const id of ["\u{10ffff}".repeat(limits.idCharactersMax), "", "\0", "\u0001"]) {
      const { json, status } = await place.get(`/v1/users?cursor=${own([id])}`)
      expect([status, json.users.length]).toEqual([200, id.length > 2 ? 0 : 5])
    }
    const wrong = [[], [1], ["a", "b"], [null], [{}], ["\ud800"]]
    for (const position of wrong) {
      const reply = await place.get(`/v1/users?cursor=${own(position)}`)
      expect(faultsOf(reply)).toEqual([["query/cursor", "invalid_format"]])
    }
    const numbers = [-1, 0.5, 2 ** 53, "1", null]
    for (const number of numbers) {
      const position = [number, 0] as unknown as Position<"history">
      const filters = { id: "user-A" }
      const cursor = cursorOf("history", "prj_forged:sandbox", filters, position)
      const reply = await place.get(`/v1/users/user-A/history?cursor=${cursor}`)
      expect(faultsOf(reply)).toEqual([["query/cursor", "invalid_format"]])
    }
    for (const sequence of [0, 1, Number.MAX_SAFE_INTEGER]) {
      const cursor = cursorOf("history", "prj_forged:sandbox", { id: "user-A" }, [sequence, 0])
      const { json, status } = await place.get(`/v1/users/user-A/history?cursor=${cursor}`)
      expect([status, json.facts.length > 0]).toEqual([200, sequence > 1])
    }
    for (const body of ["", "null", "[]", '["users"]', '{"0":"users"}', '["toString",1,"a"]']) {
      const checksum = Buffer.alloc(4)
      checksum.writeUInt32BE(checksumOf(Buffer.from(body)))
      const text = Buffer.concat([Buffer.from(body), checksum]).toString("base64url")
      const reply = await place.get(`/v1/users?cursor=1${text}`)
      expect(faultsOf(reply)).toEqual([["query/cursor", "invalid_format"]])
    }
  })

  it("shows nobody of another environment, whatever it says", async () => {
    const [mine, theirs] = [new Place(server, "own"), new Place(server, "strange")]
    await mine.track("mine", "A")
    await theirs.track("theirs", "A")
    const stolen = cursorOf("users", "prj_strange:sandbox", {}, ["a"])
    expect(faultsOf(await mine.get(`/v1/users?cursor=${stolen}`))).toEqual([
      ["query/cursor", "invalid_value"],
    ])
    const forged = cursorOf("users", "prj_own:sandbox", {}, ["a"])
    const { users } = (await mine.get(`/v1/users?cursor=${forged}`)).json
    expect(users.map(keyOf)).toEqual(["mine"])
    const before = (await Effect.runPromise(
      server.engine.readUser("prj_strange:sandbox", "theirs"),
    ))!
    const place = cursorOf("history", "prj_own:sandbox", { id: "mine" }, [before.sequence, 9])
    const { facts } = (await mine.get(`/v1/users/mine/history?cursor=${place}`)).json
    expect(facts.length).toBeGreaterThan(0)
    for (const { cause } of facts) expect(cause.action).toBe("A")
    const { facts: own } = (await mine.get("/v1/users/mine/history")).json
    expect(facts).toEqual(own)
  })

  it("keeps its position, of any size", () => {
    for (const sequence of [0, 1, Number.MAX_SAFE_INTEGER]) {
      const cursor = cursorOf("history", "e", { id: "u" }, [sequence, 7])
      expect(positionIn("history", "e", { id: "u", kind: undefined }, cursor)).toEqual([
        sequence,
        7,
      ])
    }
    const longest = '"'.repeat(limits.idCharactersMax)
    const widest = "\u{10ffff}".repeat(limits.idCharactersMax)
    for (const id of [longest, widest]) {
      const cursor = cursorOf("users", "e", {}, [id])
      expect(cursor.length).toBeLessThanOrEqual(limits.cursorCharactersMax)
      expect(positionIn("users", "e", {}, cursor)).toEqual([id])
    }
    const text = limits.attributeTextCharactersMax
    for (const name of ["\u0001".repeat(text), "\u{10ffff}".repeat(text)]) {
      const cursor = cursorOf("boardGroups", "e", {}, [name])
      expect(cursor.length).toBeLessThanOrEqual(limits.cursorCharactersMax)
      expect(positionIn("boardGroups", "e", {}, cursor)).toEqual([name])
    }
    expect(positionIn("users", "e", {}, exampleCursors.users)).toBeUndefined()
  })

  it("of the reference has the position of an example", () => {
    const environment = `${projectId}:production`
    const createdAt = Date.parse(time)
    const position: { readonly [List in ListName]: Position<List> } = {
      users: [userId],
      teams: [teamId],
      teamMembers: [userId],
      quests: [createdAt, questId],
      rules: [createdAt, ruleId],
      metrics: [createdAt, metricId],
      badges: [createdAt, badgeId],
      boosts: [createdAt, boostId],
      currencies: [createdAt, currencyId],
      segments: [createdAt, segmentId],
      streaks: [createdAt, streakId],
      leaderboards: [createdAt, leaderboardId],
      experiments: [createdAt, experimentId],
      leagues: [createdAt, leagueId],
      items: [createdAt, itemId],
      goals: [createdAt, goalId],
      sources: [createdAt, sourceId],
      webhooks: [createdAt, webhookId],
      history: [204_878, 0],
      rewards: [204_878],
      spends: [204_878],
      purchases: [204_878],
      deliveries: [204_878, 0],
      actions: ["LESSON_DONE"],
      facts: [204_878, createdAt],
      cohorts: [12],
      boardGroups: ["Berlin"],
    }
    const made = Object.entries(position).map(([list, place]) => [
      list,
      cursorOf(list as ListName, environment, {}, place),
    ])
    expect(Object.fromEntries(made)).toEqual(exampleCursors)
  })
})

describe("A long list of users", () => {
  it("has each user on one page while others come and go", async () => {
    const place = new Place(server, "moving")
    const environment = "prj_moving:sandbox"
    const ids = Array.from({ length: 60 }, (_, index) => `m${String(index).padStart(3, "0")}`)
    await Effect.runPromise(
      server.engine.askUsers(
        environment,
        ids.map((id) => event(id, "TAP")),
      ),
    )
    const seen: Array<string> = []
    let cursor = ""
    for (let page = 0; ; page++) {
      const { json } = await place.get(`/v1/users?limit=7${cursor}`)
      seen.push(...json.users.map(keyOf))
      if (json.nextCursor === null) break
      cursor = `&cursor=${json.nextCursor}`
      const newcomers = [`a${page}`, `m${String(page * 7).padStart(3, "0")}x`, `z${page}`]
      for (const id of newcomers) await place.track(id, "TAP")
    }
    expect(seen.filter((id) => ids.includes(id))).toEqual(ids)
    expect(new Set(seen).size).toBe(seen.length)
  })
})
