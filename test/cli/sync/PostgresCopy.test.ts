/** Copies of an environment in a real PostgreSQL, over failures at each statement. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { OtherCopy, PostgresCopy } from "../../../src/cli/sync/PostgresCopy.ts"
import { form, NewerForm } from "../../../src/cli/sync/tables.ts"
import type { Laurel } from "../../../src/client/Laurel.ts"
import type { Place } from "../../http/definitions.ts"
import { startServer, type TestServer } from "../../http/fixture.ts"
import { limitedInFile } from "../../limited.ts"
import { Postgres } from "../../storage/postgres/Postgres.ts"
import { Warehouse } from "./Warehouse.ts"

// Many small pages, and requests for few users.
limitedInFile({ factsPageMax: 3, usersNamedMax: 2, syncComparedUsers: 2 })

let server: TestServer
let postgres: Postgres
beforeAll(async () => {
  server = await startServer()
  postgres = await Postgres.make()
})
afterAll(async () => {
  await server.stop()
  await postgres.stop()
})

const warehouseOf = (name: string) => new Warehouse(server, postgres, name)

const copyOf = async (warehouse: Warehouse, laurel = warehouse.laurel): Promise<PostgresCopy> =>
  new PostgresCopy(await warehouse.connect(), laurel, warehouse.own)

const catchUp = async (copy: PostgresCopy): Promise<void> => {
  while ((await copy.round()).hasMore);
}

/** What the copy must have, read from the API, user by user. */
const expectCopy = async (warehouse: Warehouse) => {
  const { laurel } = warehouse
  const users: Array<unknown> = []
  const balances: Array<unknown> = []
  const facts: Array<string> = []
  for await (const user of laurel.users.list()) {
    const { displayName, hidden, id, level, xp } = user
    users.push({ user_id: id, display_name: displayName, hidden, xp: String(xp), level })
    for (const [currency, amount] of Object.entries(user.balances).sort()) {
      balances.push({ user_id: id, currency, amount: String(amount) })
    }
    for await (const fact of laurel.users.history(id)) {
      const { at: _, cause: __, kind, sequence, ...data } = fact
      facts.push(JSON.stringify([sequence, kind, sorted(data)]))
    }
  }
  const columns = "user_id, display_name, hidden, xp, level"
  expect(await warehouse.rows("users", columns, 'user_id COLLATE "C"')).toEqual(users)
  expect(
    await warehouse.rows(
      "balances",
      "user_id, currency, amount",
      'user_id COLLATE "C", currency COLLATE "C"',
    ),
  ).toEqual(balances)
  const copied = await warehouse.rows("facts", "sequence, kind, data", "sequence, number")
  expect(
    copied
      .map(({ data, kind, sequence }) => JSON.stringify([Number(sequence), kind, sorted(data)]))
      .sort(),
  ).toEqual(facts.sort())
}

/** The same value with its members in the order of their names, as `jsonb` has another order. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  )
}

const begin = async ({ place }: Warehouse) => {
  await place.post("/v1/rules", { action: "RUN", reward: { xp: 60, points: 1 } })
  await place.post("/v1/currencies", { key: "gems", name: "Gems" })
}

/** Every kind of change that a copy must follow. */
const changes = (place: Place): ReadonlyArray<() => Promise<unknown>> => [
  () => place.track("ann", "RUN", { text: "a\u0000b \ud83d\ude00", "k\u0000": 1 }),
  () => place.put("/v1/users/bob", { displayName: "Bob, with a % and a ," }),
  () => place.track("b,o%b", "RUN"),
  () => place.post("/v1/users/ann/rewards", { reward: { currencies: { gems: 5 } } }),
  () => place.track("visitor", "RUN"),
  () => place.post("/v1/users/visitor/merge", { into: "ann" }),
  () => place.post("/v1/users/ann/merge", { into: "bob" }),
  () => place.track("gone", "RUN"),
  () => place.delete("/v1/users/gone"),
  () => place.track("again", "RUN"),
  () => place.delete("/v1/users/again"),
  () => place.track("again", "RUN"),
  () => place.track("ann", "RUN"),
]

describe("A copy in PostgreSQL", () => {
  it("has what the API shows after each change, and the ids of merged users", async () => {
    const warehouse = warehouseOf("follows")
    await begin(warehouse)
    const copy = await copyOf(warehouse)
    for (const change of changes(warehouse.place)) {
      await change()
      await catchUp(copy)
      await expectCopy(warehouse)
    }
    expect(await warehouse.rows("former_ids", "former_id, user_id", "former_id")).toEqual([
      { former_id: "ann", user_id: "bob" },
      { former_id: "visitor", user_id: "bob" },
    ])
    await warehouse.place.delete("/v1/users/bob")
    await catchUp(copy)
    expect(await warehouse.rows("former_ids", "former_id", "former_id")).toEqual([])
    const left = await warehouse.rows("facts", "DISTINCT user_id", "user_id")
    expect(left.map((row) => row.user_id)).toEqual(["again", "b,o%b"])
  })

  it("has each fact once, whichever statement fails in each round", async () => {
    const warehouse = warehouseOf("fails")
    await begin(warehouse)
    for (const change of changes(warehouse.place)) await change()
    let done = false
    let failures = 0
    for (let failing = 1; !done; failing++) {
      const client = await warehouse.connectCut(failing, () => failures++)
      const copy = new PostgresCopy(client, warehouse.laurel, warehouse.own)
      const cut = await catchUp(copy).then(
        () => false,
        () => true,
      )
      done = !cut
    }
    expect(failures).toBeGreaterThan(20)
    await expectCopy(warehouse)
  })

  it("refuses a second process that has moved the cursor meanwhile, and writes nothing", async () => {
    const warehouse = warehouseOf("second")
    await begin(warehouse)
    await warehouse.place.track("ann", "RUN")
    const first = await copyOf(warehouse)
    const between = {
      ...warehouse.laurel,
      facts: {
        list: async (...args: Parameters<Laurel["facts"]["list"]>) => {
          const page = await warehouse.laurel.facts.list(...args)
          await first.round()
          return page
        },
      },
    } as unknown as Laurel
    const second = await copyOf(warehouse, between)
    await expect(second.round()).rejects.toThrow(OtherCopy)
    await catchUp(first)
    await expectCopy(warehouse)
  })

  it("deletes users whose erasure it missed when it compares, once in the given time", async () => {
    const warehouse = warehouseOf("compares")
    await begin(warehouse)
    for (const user of ["ann", "bob", "cyd", "dan", "eve"]) {
      await warehouse.place.track(user, "RUN")
    }
    await warehouse.place.post("/v1/users/cyd/merge", { into: "dan" })
    const copy = await copyOf(warehouse)
    await catchUp(copy)
    // As if the server had forgotten: the rows of a user whom it does not have.
    await warehouse.query(
      "INSERT INTO users SELECT project, environment, 'lost', NULL, NULL, false, '{}', 0, 1, 0, now(), now() FROM sync; INSERT INTO facts SELECT project, environment, 'lost', 0, 0, now(), 'user.created', 'event', NULL, NULL, NULL, NULL, NULL, NULL, '{}', NULL FROM sync",
    )
    expect(await copy.compare(60_000)).toBe(1)
    await expectCopy(warehouse)
    expect(await copy.compare(60_000)).toBeUndefined()
    expect(await copy.compare(0)).toBe(0)
  })

  it("is made again after a reset, and leaves other environments of the schema alone", async () => {
    const warehouse = warehouseOf("reset")
    await begin(warehouse)
    await warehouse.place.track("ann", "RUN")
    const copy = await copyOf(warehouse)
    await catchUp(copy)
    await warehouse.query(
      "INSERT INTO balances SELECT 'prj_other', environment, user_id, currency, amount, pending FROM balances",
    )
    await copy.reset()
    expect(await warehouse.rows("facts", "kind", "kind")).toEqual([])
    const others = await warehouse.rows("balances", "DISTINCT project", "project")
    expect(others).toEqual([{ project: "prj_other" }])
    await warehouse.query("DELETE FROM balances")
    await catchUp(copy)
    await expectCopy(warehouse)
  })
})

describe("The tables of a copy", () => {
  it("of an earlier form get the columns that this form has more, and keep their rows", async () => {
    const warehouse = warehouseOf("earlier")
    await warehouse.connect()
    await warehouse.query(
      `INSERT INTO leaderboard_entries VALUES ('p', 'sandbox', 'xp', 'weekly', now(), 'ann', 'ann', NULL, 1, 5, '[]')`,
    )
    await warehouse.query(
      'ALTER TABLE leaderboard_entries DROP COLUMN "group", DROP COLUMN group_rank',
    )
    await warehouse.query("UPDATE form SET number = 2")
    await warehouse.connect()
    expect(await warehouse.rows("form", "number", "number")).toEqual([{ number: form }])
    const shown = 'entrant, score, "group", group_rank'
    expect(await warehouse.rows("leaderboard_entries", shown, "entrant")).toEqual([
      { entrant: "ann", score: 5, group: null, group_rank: null },
    ])
  })

  it("are made once by processes that start together, and refused in a newer form", async () => {
    const warehouse = warehouseOf("together")
    await Promise.all([warehouse.connect(), warehouse.connect(), warehouse.connect()])
    expect(await warehouse.rows("form", "number", "number")).toEqual([{ number: form }])
    await warehouse.query(`UPDATE form SET number = ${form + 1}`)
    await expect(warehouse.connect()).rejects.toThrow(NewerForm)
  })
})
