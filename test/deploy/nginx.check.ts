/** deploy/nginx.conf in Debian's nginx, before a real server: TLS, streams, addresses of clients. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { type IncomingMessage, request } from "node:http"
import { Agent } from "node:https"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { createKey, Output, root, Server, temporaryFolder } from "../e2e/program.ts"
import { freePort } from "../freePorts.ts"
import { host, send, type TlsProxy, textOf, variables } from "./proxied.ts"
import { execute, programOf } from "./tools.ts"

const nginx = programOf("nginx", "nginx")
const openssl = programOf("openssl", "openssl")

interface Nginx extends TlsProxy {
  readonly httpPort: number
}

/** Runs nginx with the file of deploy/; only addresses and paths of certificates differ. */
const startNginx = async (laurelUrl: string): Promise<Nginx> => {
  const folder = await temporaryFolder()
  const certificate = join(folder, "certificate.pem")
  const certificateKey = join(folder, "key.pem")
  const wish = `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=${host}`
  await execute(openssl, [...wish.split(" "), "-keyout", certificateKey, "-out", certificate])
  const httpPort = await freePort()
  const tlsPort = await freePort()
  const server = (await readFile(join(root, "deploy/nginx.conf"), "utf8"))
    .replace("127.0.0.1:8080", new URL(laurelUrl).host)
    .replaceAll(/^ *listen \[::\].*\n/gm, "")
    .replace("listen 80;", `listen 127.0.0.1:${httpPort};`)
    .replace("listen 443", `listen 127.0.0.1:${tlsPort}`)
    .replace(/\/etc\/letsencrypt\S+fullchain\.pem/, certificate)
    .replace(/\/etc\/letsencrypt\S+privkey\.pem/, certificateKey)
  await writeFile(join(folder, "laurel.conf"), server)
  await mkdir(join(folder, "temporary"))
  const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
  const whole = `
    # The temporary folder is private, and bodies above 16 KiB are buffered in it.
    ${process.getuid?.() === 0 ? "user root;" : ""}
    daemon off;
    pid ${folder}/pid;
    error_log stderr notice;
    events {}
    http {
      access_log off;
      ${kinds.map((kind) => `${kind}_temp_path ${folder}/temporary/${kind};`).join("\n")}
      include ${folder}/laurel.conf;
    }`
  const file = join(folder, "nginx.conf")
  await writeFile(file, whole)
  const child = spawn(nginx, ["-c", file, "-e", "stderr"], { stdio: ["ignore", "ignore", "pipe"] })
  const ended = once(child, "exit")
  onTestFinished(async () => {
    child.kill("SIGTERM")
    await ended
  })
  await new Output(child.stderr).waitFor(/start worker process/)
  return { httpPort, tlsPort }
}

test("events, streams and the dashboard pass through TLS", async () => {
  const folder = await temporaryFolder()
  const server = await Server.start(folder, variables)
  const key = await server.createKey()
  const proxy = await startNginx(server.url)
  const rule = { action: "LESSON_DONE", reward: { xp: 50 } }
  expect((await send(proxy, { path: "/v1/rules", key, body: rule })).statusCode).toBe(201)

  const stream = await send(proxy, { path: "/v1/stream", key })
  expect(stream.statusCode).toBe(200)
  const messages = new Output(stream)
  const event = { userId: "ada", action: "LESSON_DONE", id: "lesson-1" }
  const sent = await send(proxy, { path: "/v1/events", key, body: event })
  expect(JSON.parse(await textOf(sent))).toMatchObject({ xp: { earned: 50, total: 50 } })
  // With nginx's own buffering, the stream stays empty until the buffer is full.
  await messages.waitFor(/event: xp\.earned/)
  stream.destroy()

  const page = await send(proxy, { path: "/dashboard" })
  expect([200, 302, 303]).toContain(page.statusCode)
  expect(page.headers.location ?? "").not.toContain("http://")
})

test("plain HTTP is redirected to the same address with https", async () => {
  const server = await Server.start(await temporaryFolder(), variables)
  const { httpPort } = await startNginx(server.url)
  const wish = { host: "127.0.0.1", port: httpPort, path: "/docs?a=1", headers: { host } }
  const reply = await new Promise<IncomingMessage>((resolve, reject) => {
    request(wish, resolve).once("error", reject).end()
  })
  expect(reply.statusCode).toBe(301)
  expect(reply.headers.location).toBe(`https://${host}/docs?a=1`)
  reply.destroy()
})

test("a client cannot claim another address", async () => {
  const folder = await temporaryFolder()
  const { key } = await createKey(folder, "--cidr", "203.0.113.0/24")
  const server = await Server.start(folder, variables)
  const proxy = await startNginx(server.url)
  const headers = { "x-forwarded-for": "203.0.113.9" }
  const claimed = await send(proxy, { path: "/v1/rules", key, headers })
  expect(claimed.statusCode).toBe(403)
  // The same header from the proxy itself is believed: the address it names may use the key.
  const { status } = await fetch(`${server.url}/v1/rules`, {
    headers: { authorization: `Bearer ${key}`, ...headers },
  })
  expect(status).toBe(200)
})

test("connections to Laurel are kept, and a body above nginx's own bound reaches it", async () => {
  const server = await Server.start(await temporaryFolder(), variables)
  const key = await server.createKey()
  const proxy = await startNginx(server.url)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  for (let n = 0; n < 50; n++) {
    const reply = await send(proxy, { path: "/v1/rules", key, agent })
    expect(reply.statusCode).toBe(200)
    await textOf(reply)
  }
  const metadata = { text: "x".repeat(2 ** 20) }
  const large = { userId: "ada", action: "LESSON_DONE", metadata }
  const reply = await send(proxy, { path: "/v1/events", key, body: large, agent })
  expect(reply.headers["content-type"]).toBe("application/problem+json")
  expect(reply.statusCode).toBe(413)
})
