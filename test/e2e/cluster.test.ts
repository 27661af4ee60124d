/** A server alone whose journal is in PostgreSQL: without PostgreSQL for a while, the ways in and out, and the runbook's commands. */
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { beforeAll, describe, expect, it } from "vitest"
import { freePort } from "../freePorts.ts"
import { Postgres } from "../storage/postgres/Postgres.ts"
import { root, run, Server, temporaryFolder } from "./program.ts"

let postgres: Postgres
let schemas = 0
const cluster = async () => ({
  LAUREL_CLUSTER: await postgres.schema(`e2e_${++schemas}`),
  // A process that makes an archive keeps the output of a server open that has ended.
  LAUREL_ARCHIVE_INTERVAL: "off",
  LAUREL_CLUSTER_ADDRESS: `127.0.0.1:${await freePort()}`,
  // The log of an operator has no warnings of libraries.
  NODE_OPTIONS: "--throw-deprecation",
})

const users = ["ada", "bob", "cy"] as const
const event = (id: string, metadata?: object) => ({
  userId: users[Number(id) % 3]!,
  action: "TAP",
  id,
  metadata,
})

/** A key of a project in which each event earns one xp. */
const keyOf = async (server: Server, made = server.createKey()): Promise<string> => {
  const key = await made
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

const guide = readFileSync(join(root, "snapshots/README.md"), "utf8")

/** Runs the commands of the runbook under a heading; the first wrong one ends them. */
const commandsUnder = async (
  heading: string,
  directory: string,
  settings: Readonly<Record<string, string>>,
  changed = (text: string) => text,
) => {
  const section = guide.slice(guide.indexOf(`### ${heading}\n`))
  const [, commands] = /^```sh\n([\s\S]*?)^```$/m.exec(section)!
  const script = join(await temporaryFolder(), "commands.sh")
  const laurel = `laurel() { '${process.execPath}' src/main.ts "$@"; }`
  await writeFile(script, `set -eu\n${laurel}\n${changed(commands!)}`)
  const env = { ...process.env, ...settings, LAUREL_DATA_DIR: directory }
  const child = spawn("bash", [script], { cwd: root, env })
  let output = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += chunk
    })
  }
  const code = await new Promise<number | null>((ended) => child.on("close", ended))
  return { code, output }
}

describe("A server of a cluster", () => {
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
    const { status } = await waiting
    expect([200, 503]).toContain(status)
    await server.stderr.waitFor(/answers again; accepting writes/)
    // A request that came after the outage was noticed was refused, and wrote nothing.
    const repeat = await send("1")
    expect(repeat.status).toBe(200)
    if (status === 200) expect(repeat.body).toMatchObject({ duplicate: true })
    expect(await totalOf(server, key)).toBe(2)
    // It is still its first claim: the engine that waited goes on.
    const served = /"Serves the partition".*"partition":1\b/g
    expect(server.stderr.text.match(served)).toHaveLength(1)
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
    const send = (server: Server, id: string, metadata?: object) =>
      server.request(key, "POST", "/v1/events", event(id, metadata))
    await send(before, "0", { try: 1 })
    expect(await before.stop()).toBe(0)

    const inside = await Server.start(folder, settings)
    const repeat = { duplicate: true, differs: ["/metadata/try"] }
    expect((await send(inside, "0", { try: 2 })).body).toMatchObject(repeat)
    await send(inside, "1", { try: 1 })
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
    expect((await send(outside, "1", { try: 2 })).body).toMatchObject(repeat)
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
    const install = () => run(["cluster", "install", "--partition", "1", "--yes"], folder, settings)
    const elsewhere = await Server.start(await temporaryFolder(), settings)
    const running = await install()
    expect([running.code, running.stderr]).toEqual([
      75,
      expect.stringContaining(settings.LAUREL_CLUSTER_ADDRESS),
    ])
    expect(await elsewhere.stop()).toBe(0)
    const installed = await install()
    expect([installed.code, installed.stdout]).toEqual([0, expect.stringMatching(/Installed \d+/)])
    const back = await Server.start(await temporaryFolder(), settings)
    expect((await send(back, "2")).body).toMatchObject({ duplicate: true })
    expect(await totalOf(back, key)).toBe(3)
  })

  it("is archived, and restored to a new cluster, by the commands of the runbook", async () => {
    const archives = await temporaryFolder()
    const old = { ...(await cluster()), LAUREL_ARCHIVE_DIR: archives }
    const folder = await temporaryFolder()
    const server = await Server.start(folder, old)
    // The first project is in partition 1.
    const key = await keyOf(server, server.firstKey())
    const send = (on: Server, id: string) => on.request(key, "POST", "/v1/events", event(id))
    await send(server, "0")
    // The other partitions are empty, and would cost a few processes each.
    const firstAlone = (text: string) => text.replace(" create", " create --partition 1")
    const created = await commandsUnder("Archive all of a cluster", folder, old, firstAlone)
    expect(created).toMatchObject({ code: 0, output: expect.stringContaining("1 user, up to") })
    // Not in the archives.
    await send(server, "1")
    expect(await server.stop()).toBe(0)

    const fresh = { ...(await cluster()), LAUREL_ARCHIVE_DIR: archives }
    const elsewhere = await temporaryFolder()
    const restored = await commandsUnder("All of it to a new cluster", elsewhere, fresh)
    expect(restored).toMatchObject({
      code: 0,
      output: expect.stringContaining("Start the servers"),
    })
    const again = await Server.start(elsewhere, fresh)
    expect((await send(again, "0")).body).toMatchObject({ duplicate: true })
    expect(await totalOf(again, key)).toBe(1)
    expect(await again.stop()).toBe(0)
  })
})
