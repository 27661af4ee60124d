/** A start looks at the PostgreSQL that it is given. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import {
  checkServer,
  faultOf,
  risksOf,
  type ServerSettings,
} from "../../../src/storage/postgres/ServerCheck.ts"
import { Pooler } from "./Pooler.ts"
import { Postgres } from "./Postgres.ts"

const good: ServerSettings = {
  server_version: "18.4",
  server_version_num: "180004",
  fsync: "on",
  full_page_writes: "on",
  synchronous_commit: "on",
  synchronous_standby_names: "ANY 1 (a, b)",
}

describe("The settings of a PostgreSQL", () => {
  it("are accepted with their defaults", () => {
    expect([faultOf(good), risksOf(good)]).toEqual([undefined, []])
  })

  it("need version 14", () => {
    expect(faultOf({ ...good, server_version_num: "140000" })).toBeUndefined()
    const old = { ...good, server_version: "13.23", server_version_num: "130023" }
    expect(faultOf(old)).toBe("PostgreSQL 13.23 is too old: 14 or newer is needed")
  })

  it.each([
    [{ fsync: "off" }, "fsync is off"],
    [{ full_page_writes: "off" }, "full_page_writes is off"],
    [{ synchronous_commit: "local" }, "synchronous_commit is local"],
    [{ synchronous_commit: "remote_write" }, "synchronous_commit is remote_write"],
  ])("are a risk with %o", (change, words) => {
    expect(risksOf({ ...good, ...change })).toEqual([expect.stringContaining(words)])
  })

  it.each([
    // Sessions of Laurel turn it on.
    { synchronous_commit: "off" },
    { synchronous_commit: "remote_apply" },
    { synchronous_commit: "local", synchronous_standby_names: "" },
  ])("are none with %o", (change) => {
    expect(risksOf({ ...good, ...change })).toEqual([])
  })
})

describe("A PostgreSQL at a start", () => {
  let postgres: Postgres

  beforeAll(async () => {
    postgres = await Postgres.make()
  })

  afterAll(() => postgres?.remove())

  it("is asked for its settings", async () => {
    // Those of the tests.
    expect(await Effect.runPromise(checkServer(postgres.urlOf("public")))).toEqual([
      expect.stringContaining("fsync is off"),
      expect.stringContaining("full_page_writes is off"),
    ])
  })

  it.each([
    ["the session that was released last", "last"],
    ["the session that was released first", "first"],
  ] as const)("is refused behind a pooler of transactions that picks %s", async (_, picks) => {
    const pooler = await Pooler.listen(postgres.port, { mode: "transaction", picks })
    try {
      const failure = await Effect.runPromise(
        Effect.flip(checkServer(postgres.urlOf("public", pooler.port))),
      )
      expect(failure).toMatchObject({ isRefusal: true, isOutage: false })
      expect(failure.message).toContain("pool_mode = session")
    } finally {
      pooler.close()
    }
  })

  it("is accepted behind a pooler in session mode", async () => {
    const pooler = await Pooler.listen(postgres.port, { mode: "session", picks: "last" })
    try {
      const risks = await Effect.runPromise(checkServer(postgres.urlOf("public", pooler.port)))
      expect(risks).toHaveLength(2)
    } finally {
      pooler.close()
    }
  })
})
