/** A server alone whose journal is in PostgreSQL: without PostgreSQL for a while, and the ways in and out. */
import { join } from "node:path"
import { beforeAll, describe, expect, it } from "vitest"
import { freePort } from "../freePorts.ts"
import { Postgres } from "../storage/postgres/Postgres.ts"
import { run, Server, temporaryFolder } from "./program.ts"

let postgres: Postgres
let schemas = 0
const cluster = async () => ({
  LAUREL_CLUSTER: await postgres.schema(`e2e_${++schemas}`),
  // A process that makes an archive keeps the output of a server open that has ended.
  LAUREL_ARCHIVE_INTERVAL: "off",
  LAUREL_CLUSTER_ADDRESS: `127.0.0.1:${await freePort()}`,
})

const users = ["ada", "bob", "cy"] as const
const event = (id: string) => ({ userId: users[Number(id) % 3]!, action: "TAP", id })

/** A key of a project in which each event earns one xp. */
const keyOf = async (server: Server): Promise<string> => {
  const key = await server.createKey()
  const rule = { action: "TAP", reward: { xp: 1 } }
  expect((await server.request(key, "POST", "/v1/rules", rule)).status).toBe(201)
  return key
}

/** Events of all users. */
const totalOf = async (server: Server, key: string): Promise<number> => {
  let total = 0
  for (const user of users) {
    const { body } = await server.request(key, "GET", `/v1/users/${user}`)
    total += body.xp ?? 0
  }
  return total
}

describe("A cluster of one partition", () => {
  beforeAll(async () => {
    postgres = await Postgres.make()
    return () => postgres.remove()
  })

  it("waits for PostgreSQL without a recovery, also with reads, and ends in order without it", async () => {
    const settings = await cluster()
    const folder = await temporaryFolder()
    const server = await Server.start(folder, settings)
    const key = await keyOf(server)
    const send = (id: string) => server.request(key, "POST", "/v1/events", event(id))
    expect((await send("0")).status).toBe(200)
    await postgres.stop("SIGKILL")
    const waiting = send("1")
    await server.stderr.waitFor(/database does not answer: refusing writes/)
    // Another server may have taken over: only PostgreSQL knows.
    const reading = server.request(key, "GET", "/v1/users/ada")
    await postgres.start()
    expect((await reading).status).toBe(200)
    // Soon enough, or after its caller was told that it is not known.
    expect([200, 503]).toContain((await waiting).status)
    await server.stderr.waitFor(/answers again; accepting writes/)
    expect((await send("1")).body).toMatchObject({ duplicate: true })
    expect(await totalOf(server, key)).toBe(2)
    // It is still its first claim: the engine that waited goes on.
    expect(server.stderr.text.match(/Serves the partition/g)).toHaveLength(1)
    await postgres.stop()
    expect(await server.stop()).toBe(0)
    await postgres.start()
    const again = await Server.start(folder, settings)
    expect(await totalOf(again, key)).toBe(2)
  })

  it("begins with the data of a server without one, and ends as such a server's", async () => {
    const settings = await cluster()
    const folder = await temporaryFolder()
    const before = await Server.start(folder)
    const key = await keyOf(before)
    const send = (server: Server, id: string) =>
      server.request(key, "POST", "/v1/events", event(id))
    await send(before, "0")
    expect(await before.stop()).toBe(0)

    const inside = await Server.start(folder, settings)
    expect((await send(inside, "0")).body).toMatchObject({ duplicate: true })
    await send(inside, "1")
    const alone = await run(
      ["keys", "create", "--project", "x", "--environment", "sandbox"],
      await temporaryFolder(),
      settings,
    )
    expect([alone.code, alone.stderr]).toEqual([
      69,
      expect.stringContaining("beside a running server"),
    ])
    expect(await inside.stop()).toBe(0)

    const refused = await run(["serve"], folder)
    expect([refused.code, refused.stderr]).toEqual([78, expect.stringContaining("LAUREL_CLUSTER")])
    const outside = await Server.start(join(folder, "partitions", "1"))
    expect((await send(outside, "1")).body).toMatchObject({ duplicate: true })
    await send(outside, "2")
    expect(await totalOf(outside, key)).toBe(3)
    expect(await outside.stop()).toBe(0)

    // Its own records are not in PostgreSQL: it is no copy any more, and is left as it is.
    const foreign = await run(["serve"], folder, settings)
    expect([foreign.code, foreign.stderr]).toEqual([
      78,
      expect.stringContaining("no copy of this cluster"),
    ])

    // It takes the place of what PostgreSQL has, while no server runs.
    const install = () => run(["cluster", "install", "--yes"], folder, settings)
    const elsewhere = await Server.start(await temporaryFolder(), settings)
    const running = await install()
    expect([running.code, running.stderr]).toEqual([
      75,
      expect.stringContaining(settings.LAUREL_CLUSTER_ADDRESS),
    ])
    expect(await elsewhere.stop()).toBe(0)
    const installed = await install()
    expect([installed.code, installed.stdout]).toEqual([0, expect.stringMatching(/^Installed \d+/)])
    const back = await Server.start(await temporaryFolder(), settings)
    expect((await send(back, "2")).body).toMatchObject({ duplicate: true })
    expect(await totalOf(back, key)).toBe(3)
  })
})
