import { stat, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"
import { commandEnd } from "../cli/commands.ts"
import { createKey, readServerFile, run, Server, sharedByAll, temporaryFolder } from "./program.ts"

const statusWith = async (server: Server, key: string) =>
  (await server.request(key, "GET", "/v1/leaderboard")).status

describe("Keys on the command line, beside a running server", () => {
  let folder: string
  let server: Server
  sharedByAll(async () => {
    folder = await temporaryFolder()
    server = await Server.start(folder)
  })

  it("work at once, and are gone at once", async () => {
    const through = `Data directory: ${folder} (through its server at ${server.url})\n`
    const { id, key } = await createKey(folder)
    expect(await statusWith(server, key)).toBe(200)
    const revoked = await run(["keys", "revoke", id], folder)
    expect(revoked).toMatchObject({ code: 0, stdout: "", stderr: `${through}Revoked ${id}.\n` })
    expect(await statusWith(server, key)).toBe(401)
    const again = await commandEnd(["keys", "revoke", id], folder)
    expect(again).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^Data directory: .*\nlaurel: No key in force has this id\.\n$/,
      ),
    })
  })

  it("have the scope that was asked for, and together the limit of their project", async () => {
    const { key } = await createKey(folder, "--scope", "read")
    const limit = (...wish: ReadonlyArray<string>) =>
      commandEnd(["projects", "limit", "shop", ...wish], folder)
    const set = await limit("--tier", "enterprise", "--rate-limit", "2")
    expect(set).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/shop: enterprise, 2 requests a minute\.\n$/),
    })
    const listed = await commandEnd(["projects", "list", "--json"], folder)
    expect(JSON.parse(listed.stdout)).toContainEqual(
      expect.objectContaining({ name: "shop", tier: "enterprise", rateLimit: 2 }),
    )
    const post = await server.request(key, "POST", "/v1/events", { userId: "u", action: "A" })
    expect([post.status, post.body.code]).toEqual([403, "insufficient_scope"])
    const statuses = []
    for (let asked = 0; asked < 4; asked++) statuses.push(await statusWith(server, key))
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(2)
    expect(statuses.at(-1)).toBe(429)
    const other = await createKey(folder)
    expect(await statusWith(server, other.key)).toBe(429)
    expect((await limit("--tier", "pro", "--rate-limit", "5")).code).toBe(64)
    expect((await limit("--tier", "enterprise", "--rate-limit", "0")).code).toBe(64)
    expect((await commandEnd(["projects", "limit", "shpo", "--tier", "pro"], folder)).code).toBe(1)
    expect((await limit("--tier", "enterprise")).code).toBe(0)
    expect(await statusWith(server, key)).toBe(200)
    expect(await statusWith(server, other.key)).toBe(200)
  })

  it("have a name, origins and ranges, and are refused elsewhere", async () => {
    const origins = ["--origin", "https://app.example", "--origin", "http://localhost:5173"]
    const wish = ["--name", "Shop floor", ...origins, "--expires-at", "2999-01-01T00:00:00Z"]
    const { id, key } = await createKey(folder, ...wish, "--cidr", "127.0.0.0/8", "--cidr", "::1")
    expect(await statusWith(server, key)).toBe(200)
    const away = await createKey(folder, "--cidr", "203.0.113.7")
    expect(await statusWith(server, away.key)).toBe(403)
    const listed = JSON.parse((await commandEnd(["keys", "list", "--json"], folder)).stdout)
    const { lastUsedAt, ...found } = listed.find((each: { id: string }) => each.id === id)
    expect(Date.parse(lastUsedAt)).toBeGreaterThan(Date.now() - 60_000)
    expect(found).toMatchObject({
      name: "Shop floor",
      kind: "secret",
      allowedOrigins: ["https://app.example", "http://localhost:5173"],
      allowedCidrs: ["127.0.0.0/8", "::1/128"],
      createdBy: "operator",
      expiresAt: "2999-01-01T00:00:00.000Z",
      status: "in_force",
    })
    const args = ["keys", "create", "--project", "shop", "--environment", "sandbox"]
    const faulty = ["--name", " ", "--origin", "null", "--origin", "x", "--cidr", "10.0.0.0/33"]
    const refused = await commandEnd([...args, ...faulty], folder)
    expect(refused.code).toBe(1)
    for (const pointer of ["/name", "/allowedOrigins/0", "/allowedOrigins/1", "/allowedCidrs/0"]) {
      expect(refused.stderr).toContain(pointer)
    }
    const both = ["--expires-in", "1 day", "--expires-at", "2999-01-01T00:00:00Z"]
    expect((await commandEnd([...args, ...both], folder)).code).toBe(64)
  })

  it("are publishable for web pages, and then read boards, badges and active quests alone", async () => {
    const { key } = await createKey(
      folder,
      ...[
        "--kind",
        "publishable",
        "--origin",
        "https://app.example",
        "--origin",
        "http://localhost:5173",
      ],
    )
    expect(key).toMatch(/^lk_pub_test_\w{49}$/)
    for (const path of ["/v1/leaderboard", "/v1/badges", "/v1/quests"]) {
      expect((await server.request(key, "GET", path)).status).toBe(200)
    }
    for (const path of ["/v1/users", "/v1/project", "/v1/rules"]) {
      const { body, status } = await server.request(key, "GET", path)
      expect([status, body.code]).toEqual([403, "insufficient_scope"])
    }
    expect((await commandEnd(["keys", "list"], folder)).stdout).toMatch(
      /publishable .* lk_pub_test_\w{4}…/,
    )
    const args = ["keys", "create", "--project", "shop", "--environment", "sandbox"]
    const scoped = await commandEnd([...args, "--kind", "publishable", "--scope", "read"], folder)
    expect([scoped.code, scoped.stderr]).toEqual([64, expect.stringContaining("--scope")])
  })

  it("make user tokens, which survive a kill of the server and end with their key", async () => {
    const folder = await temporaryFolder()
    const first = await Server.start(folder)
    const { id, key } = await createKey(folder)
    const { body } = await first.request(key, "POST", "/v1/users/ada/tokens")
    await first.request(key, "POST", "/v1/events", { userId: "ada", action: "A" })
    await first.stop("SIGKILL")
    const second = await Server.start(folder)
    const asked = async () => (await second.request(body.token, "GET", "/v1/users/ada")).status
    expect(await asked()).toBe(200)
    expect((await commandEnd(["keys", "revoke", id], folder)).code).toBe(0)
    expect(await asked()).toBe(401)
  })

  it("are rotated with an overlap, in which both work, and a revocation ends it", async () => {
    const old = await createKey(folder, "--name", "Backend", "--scope", "read")
    const rotated = await run(["keys", "rotate", old.id, "--overlap", "1h", "--json"], folder)
    const next = JSON.parse(rotated.stdout)
    expect(next).toMatchObject({ name: "Backend", scope: "read" })
    expect([await statusWith(server, old.key), await statusWith(server, next.key)]).toEqual([
      200, 200,
    ])
    expect((await commandEnd(["keys", "revoke", old.id], folder)).code).toBe(0)
    expect(await statusWith(server, old.key)).toBe(401)
    const plain = await commandEnd(["keys", "rotate", next.id, "--overlap", "0"], folder)
    expect(plain.stdout).toMatch(/^lk_test_\w{49}\n$/)
    expect(plain.stderr).toContain(`${next.id} has expired.`)
    expect([
      await statusWith(server, next.key),
      await statusWith(server, plain.stdout.trim()),
    ]).toEqual([401, 200])
    const again = await commandEnd(["keys", "rotate", next.id], folder)
    expect(again).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^Data directory: .*\nlaurel: No key in force has this id\.\n$/,
      ),
    })
  })

  it("are printed as the JSON that scripts rely on", async () => {
    const args = ["keys", "create", "--project", "shop", "--environment", "production"]
    const { stdout } = await run([...args, "--json"], folder)
    expect(JSON.parse(stdout)).toEqual({
      key: expect.stringMatching(/^lk_live_\w{49}$/),
      id: expect.stringMatching(/^key_[0-9a-f]{32}$/),
      name: "full key",
      kind: "secret",
      project: "shop",
      environment: "production",
      scope: "full",
      allowedOrigins: [],
      allowedCidrs: [],
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      expiresAt: null,
      projectCreated: false,
    })
    const plain = await commandEnd(args, folder)
    expect(plain.stdout).toMatch(/^lk_live_\w{49}\n$/)
    expect(await statusWith(server, plain.stdout.trim())).toBe(200)
  })

  it("are refused without the token, whose file only the owner can read", async () => {
    const { adminUrl, token } = await readServerFile(folder)
    expect((await stat(join(folder, "server.json"))).mode & 0o777).toBe(0o600)
    const statuses = []
    for (const authorization of ["", "Bearer x", `Bearer ${token}x`, `Basic ${token}`]) {
      const reply = await fetch(`${adminUrl}/admin/keys`, { headers: { authorization } })
      statuses.push(reply.status)
    }
    expect(statuses).toEqual([401, 401, 401, 401])
    const headers = { authorization: `Bearer ${token}` }
    expect((await fetch(`${adminUrl}/admin/keys`, { headers })).status).toBe(200)
  })
})

describe("Keys on the command line, without a server", () => {
  it("name the directory that they are in, and a project that was not there before", async () => {
    const folder = await temporaryFolder()
    const create = (project: string) =>
      commandEnd(["keys", "create", "--project", project, "--environment", "sandbox"], folder)
    expect((await create("shop")).stderr).toMatch(/ Created project shop, which did not exist\.\n/)
    const known = await create("shop")
    expect(known.stderr).toMatch(`Data directory: ${folder} (no server runs on it)\n`)
    expect(known.stderr).not.toContain("did not exist")
    expect((await create("shpo")).stderr).toMatch(/ Created project shpo, which did not exist\.\n/)
  })

  it("can be created, rotated, listed and revoked, and the next server knows it", async () => {
    const folder = await temporaryFolder()
    const first = await createKey(folder)
    const rotated = await commandEnd(
      ["keys", "rotate", first.id, "--overlap", "0", "--json"],
      folder,
    )
    const kept = JSON.parse(rotated.stdout)
    const ended = await createKey(folder, "--expires-in", "30 days")
    expect((await commandEnd(["keys", "revoke", ended.id], folder)).code).toBe(0)
    const table = await commandEnd(["keys", "list"], folder)
    expect(table.stdout.split("\n").map((line) => line.split(/\s{2,}/))).toEqual([
      [
        ...["ID", "NAME", "PROJECT", "ENVIRONMENT", "SCOPE", "KEY", "CREATED"],
        ...["BY", "LAST USED", "STATUS"],
      ],
      Array(10).fill(expect.stringMatching(/^─+$/)),
      [first.id, ...same, ...rest("expired ")],
      [kept.id, ...same, ...rest("in force")],
      [ended.id, ...same, ...rest("revoked ")],
      [""],
    ])
    const server = await Server.start(folder)
    expect(await statusWith(server, kept.key)).toBe(200)
    expect(await statusWith(server, ended.key)).toBe(401)
    expect(await statusWith(server, first.key)).toBe(401)
    // The time of the last use is known after an orderly end.
    await server.stop()
    const { stdout } = await commandEnd(["keys", "list", "--json"], folder)
    const uses = JSON.parse(stdout).map(({ lastUsedAt }: { lastUsedAt: string | null }) =>
      lastUsedAt === null ? "never" : "used",
    )
    expect(uses).toEqual(["never", "used", "never"])
  })

  it("are not looked for where there is no data", async () => {
    const folder = await temporaryFolder()
    for (const args of [
      ["keys", "list"],
      ["keys", "revoke", "key_1"],
    ]) {
      const { code, stderr } = await commandEnd(args, join(folder, "nothing"))
      expect([code, stderr]).toEqual([66, `laurel: No data in ${folder}/nothing.\n`])
    }
  })

  it("ignore the files of a killed server", async () => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder)
    expect(await server.stop("SIGKILL")).toBe("SIGKILL")
    expect((await readServerFile(folder)).pid).toBe(server.process.pid)
    const { id, key } = await createKey(folder)
    const again = await Server.start(folder)
    expect(await statusWith(again, key)).toBe(200)
    expect((await commandEnd(["keys", "revoke", id], folder)).code).toBe(0)
    expect(await statusWith(again, key)).toBe(401)
  })

  it("are not confused by another process at the place and under the id of a killed server", async () => {
    const folder = await temporaryFolder()
    await createKey(folder)
    const asked: Array<string> = []
    const other = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`)
      response.writeHead(401).end('{"code":"unauthorized","detail":""}')
    })
    await new Promise<void>((listening) => other.listen(0, "127.0.0.1", listening))
    onTestFinished(() => {
      other.close()
    })
    const adminUrl = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
    const stale = { pid: process.pid, url: "", adminUrl, token: "t", startedAt: "" }
    await writeFile(join(folder, "server.json"), JSON.stringify(stale))
    const { code, stdout } = await commandEnd(["keys", "list", "--json"], folder)
    expect([code, JSON.parse(stdout).length]).toEqual([0, 1])
    expect(asked).toEqual(["GET /admin/keys"])
  })
})

const same = ["full key", "shop", "sandbox", "full"]
const rest = (status: string) => [
  expect.stringMatching(/^lk_test_\w{4}…$/),
  expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
  "operator",
  "never",
  expect.stringContaining(status),
]
