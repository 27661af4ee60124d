/** deploy/Caddyfile in Debian's Caddy, before a real server: TLS, streams, addresses of clients. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { createKey, Output, root, Server, temporaryFolder } from "../e2e/program.ts"
import { freePort } from "../freePorts.ts"
import { host, send, type TlsProxy, textOf, variables } from "./proxied.ts"
import { execute, programOf } from "./tools.ts"

const caddy = programOf("caddy", "caddy")

/** Runs Caddy with the file of deploy/, with an authority of its own and other ports. */
const startCaddy = async (laurelUrl: string): Promise<TlsProxy> => {
  const folder = await temporaryFolder()
  const tlsPort = await freePort()
  const own = `{
    admin off
    local_certs
    skip_install_trust
    http_port ${await freePort()}
    https_port ${tlsPort}
    storage file_system ${folder}
  }\n`
  const file = join(folder, "Caddyfile")
  await writeFile(file, own + (await readFile(join(root, "deploy/Caddyfile"), "utf8")))
  const env = {
    ...process.env,
    HOME: folder,
    LAUREL_DOMAIN: host,
    LAUREL_UPSTREAM: new URL(laurelUrl).host,
  }
  const args = ["run", "--config", file, "--adapter", "caddyfile"]
  const child = spawn(caddy, args, { env, stdio: ["ignore", "ignore", "pipe"] })
  const ended = once(child, "exit")
  onTestFinished(async () => {
    child.kill("SIGTERM")
    await ended
  })
  await new Output(child.stderr).waitFor(/certificate obtained successfully/)
  return { tlsPort }
}

test("Caddy accepts the file as it stands", async () => {
  const file = join(root, "deploy/Caddyfile")
  const output = await execute(caddy, ["validate", "--config", file, "--adapter", "caddyfile"])
  expect(output).toContain("Valid configuration")
})

test("events and streams pass through TLS", async () => {
  const server = await Server.start(await temporaryFolder(), variables)
  const key = await server.createKey()
  const proxy = await startCaddy(server.url)
  const rule = { action: "LESSON_DONE", reward: { xp: 50 } }
  expect((await send(proxy, { path: "/v1/rules", key, body: rule })).statusCode).toBe(201)
  const stream = await send(proxy, { path: "/v1/stream", key })
  const messages = new Output(stream)
  const event = { userId: "ada", action: "LESSON_DONE", id: "lesson-1" }
  const sent = await send(proxy, { path: "/v1/events", key, body: event })
  expect(JSON.parse(await textOf(sent))).toMatchObject({ xp: { earned: 50, total: 50 } })
  await messages.waitFor(/event: xp\.earned/)
  stream.destroy()
})

test("a client cannot claim another address", async () => {
  const folder = await temporaryFolder()
  const { key } = await createKey(folder, "--cidr", "203.0.113.0/24")
  const server = await Server.start(folder, variables)
  const proxy = await startCaddy(server.url)
  const headers = { "x-forwarded-for": "203.0.113.9" }
  expect((await send(proxy, { path: "/v1/rules", key, headers })).statusCode).toBe(403)
})
