/**
 * The admin server of a server in a cluster, while its engine is open and another server may
 * already own the partition.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Postgres } from "../storage/postgres/Postgres.ts"
import { Link } from "./Link.ts"
import { eventually, Runner } from "./Runner.ts"

describe("The admin server of a server that PostgreSQL does not confirm as the owner", () => {
  let postgres: Postgres
  let link: Link
  let runner: Runner

  beforeAll(async () => {
    postgres = await Postgres.make()
    link = await Link.to(postgres.port)
    await postgres.schema("admin")
    runner = await Runner.make({ LAUREL_CLUSTER: postgres.urlOf("admin", link.port) })
    await runner.start()
  })

  afterAll(async () => {
    await runner?.remove()
    await link?.close()
    await postgres?.remove()
  })

  const position = async () => (await runner.asOperator("/admin/position")).status

  it("does not let the open engine answer, until the ownership is confirmed again", async () => {
    await eventually("its partitions", async () => (await runner.serves()) || undefined)
    expect(await position()).toBe(200)
    link.set("refused")
    await eventually("the doubt", async () => !(await runner.serves()) || undefined)
    expect(await position()).toBe(421)
    link.set("open")
    await eventually("its partitions again", async () => (await runner.serves()) || undefined)
    expect(await position()).toBe(200)
    // It is the same engine.
    const openings = /"Opened the data directory"[^\n]*\/partitions\/1"/g
    expect(runner.process.stderr.match(openings)).toHaveLength(1)
  })
})
