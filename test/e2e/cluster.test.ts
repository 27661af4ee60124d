/** Servers whose journal is in PostgreSQL: take-over by a later start, a stop of either, and the ways in and out. */
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { beforeAll, describe, expect, it } from "vitest"
import { Postgres } from "../storage/postgres/Postgres.ts"
import { patience, run, Server, temporaryFolder } from "./program.ts"

let postgres: Postgres
let schemas = 0
const cluster = async () => ({
  LAUREL_CLUSTER: await postgres.schema(`e2e_${++schemas}`),
  // A process that makes an archive keeps the output of a server open that has ended.
  LAUREL_ARCHIVE_INTERVAL: "off",
})

const users = ["ada", "bob", "cy"] as const
const event = (id: string) => ({ userId: users[Number(id) % 3]!, action: "TAP", id })

/** Clients that send numbered events, each id once, and note which were acknowledged. */
class Clients {
  readonly sent: Array<string> = []
  readonly acknowledged = new Set<string>()
  readonly #server: Server
  readonly #key: string
  readonly #running: ReadonlyArray<Promise<void>>
  #isStopped = false

  constructor(server: Server, key: string, count: number) {
    this.#server = server
    this.#key = key
    this.#running = Array.from({ length: count }, () => this.#run())
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const id = String(this.sent.length)
      this.sent.push(id)
      const reply = await this.#server
        .request(this.#key, "POST", "/v1/events", event(id))
        .catch(() => undefined)
      if (reply === undefined) return
      if (reply.status === 200) this.acknowledged.add(id)
    }
  }

  async acknowledge(count: number): Promise<void> {
    while (this.acknowledged.size < count) await setTimeout(5)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running)
  }
}

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

/** Every acknowledged event is there, and each that was sent is counted once after it was sent again. */
const expectExactlyOnce = async (server: Server, key: string, { acknowledged, sent }: Clients) => {
  const lost: Array<string> = []
  for (let from = 0; from < sent.length; from += together) {
    const ids = sent.slice(from, from + together)
    const batch = { events: ids.map(event) }
    const { body, status } = await server.request(key, "POST", "/v1/events/batch", batch)
    expect([status, body.rejected]).toEqual([200, 0])
    lost.push(...ids.filter((id, at) => acknowledged.has(id) && !body.results[at].duplicate))
  }
  expect(lost).toEqual([])
  expect(await totalOf(server, key)).toBe(sent.length)
}

/** Events of a batch. */
const together = 500

describe("A cluster of one partition", patience, () => {
  beforeAll(async () => {
    postgres = await Postgres.make()
    return () => postgres.remove()
  }, patience.timeout)

  it("is taken over by a later start under load: nothing acknowledged is lost, nothing twice", async () => {
    const settings = await cluster()
    const [one, two] = [await temporaryFolder(), await temporaryFolder()]
    const first = await Server.start(one, settings)
    const key = await keyOf(first)
    const clients = new Clients(first, key, 16)
    await clients.acknowledge(200)
    const second = await Server.start(two, settings)
    expect(await first.ended).toBe(76)
    expect(first.stderr.text).toContain("Another server took this partition over")
    await clients.stop()
    await expectExactlyOnce(second, key, clients)

    // Its directory follows what the other one wrote; the other one is idle, and learns it without a write.
    const third = await Server.start(one, settings)
    expect(await second.ended).toBe(76)
    expect(await totalOf(third, key)).toBe(clients.sent.length)

    // One that stood still while it was taken over ends, too.
    third.process.kill("SIGSTOP")
    const fourth = await Server.start(two, settings)
    third.process.kill("SIGCONT")
    expect(await third.ended).toBe(76)
    expect(await fourth.stop()).toBe(0)
  })

  it("waits for PostgreSQL, reads go on, and ends in order without it", async () => {
    const settings = await cluster()
    const folder = await temporaryFolder()
    const server = await Server.start(folder, settings)
    const key = await keyOf(server)
    const send = (id: string) => server.request(key, "POST", "/v1/events", event(id))
    expect((await send("0")).status).toBe(200)
    await postgres.stop("SIGKILL")
    const waiting = send("1")
    await server.stderr.waitFor(/database does not answer: refusing writes/)
    expect((await send("2")).status).toBe(503)
    expect((await server.request(key, "GET", "/v1/users/ada")).status).toBe(200)
    await postgres.start()
    // Soon enough, or after its caller was told that it is not known.
    expect([200, 503]).toContain((await waiting).status)
    await server.stderr.waitFor(/answers again; accepting writes/)
    expect((await send("1")).body).toMatchObject({ duplicate: true })
    expect(await totalOf(server, key)).toBe(2)
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
    expect([alone.code, alone.stderr]).toEqual([69, expect.stringContaining("beside its server")])
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
  })
})
