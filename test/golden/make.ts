/**
 * Makes the golden set of the present format: `node test/golden/make.ts test/golden/1`, into a new folder. A set is
 * made once, by the Laurel that first writes the format, and stays as it is.
 *
 * A real server does one of everything eight days ago, and a second one now, so that windows are over; nobody
 * listens where its webhook points to, so that deliveries wait.
 */
import { spawn } from "node:child_process"
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { rangeOf } from "../../src/storage/Keys.ts"
import { LmdbReader } from "../../src/storage/lmdb/LmdbReader.ts"
import { tables } from "../../src/storage/Storage.ts"

const root = resolve(import.meta.dirname, "../..")
const set = resolve(process.argv[2]!)
await mkdir(set)
const folder = await mkdtemp(join(tmpdir(), "laurel-golden-"))
const dayMs = 86_400_000

/** The program, with a clock that is `days` behind. */
const laurel = (days: number, ...args: ReadonlyArray<string>) => {
  const shifted = `const now = Date.now; Date.now = () => now() - ${days * dayMs}`
  const clock = `data:text/javascript,${encodeURIComponent(shifted)}`
  const child = spawn(process.execPath, ["--import", clock, "src/main.ts", ...args], {
    cwd: root,
    env: {
      ...process.env,
      LAUREL_DATA_DIR: folder,
      LAUREL_PORT: "0",
      LAUREL_ADMIN_PORT: "0",
      LAUREL_ARCHIVE_INTERVAL: "off",
      LAUREL_WEBHOOK_ALLOW_CIDR: "127.0.0.0/8",
      LAUREL_WEBHOOK_REQUIRE_HTTPS: "false",
      LAUREL_WEBHOOK_RETRY_SCHEDULE: "0,0,86400",
    },
    stdio: ["ignore", "pipe", "pipe"],
  })
  let output = ""
  const ready = new Promise<void>((found) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => {
        output += chunk
        if (/"message":"Ready"/.test(output)) found()
      })
    }
  })
  const ended = new Promise<string>((done) => child.on("close", () => done(output)))
  return { child, ended, ready }
}

const serve = async (days: number, use: (url: string) => Promise<void>) => {
  const { child, ended, ready } = laurel(days, "serve")
  await Promise.race([ready, ended])
  try {
    await use(JSON.parse(await readFile(join(folder, "server.json"), "utf8")).url)
  } finally {
    child.kill()
    await ended
  }
}

const wish = ["--project", "shop", "--environment", "sandbox", "--tier", "enterprise"]
const created = await laurel(8, "keys", "create", ...wish, "--json").ended
const { key } = JSON.parse(created.split("\n").find((line) => line.startsWith("{"))!)

const ask = async (url: string, method: string, path: string, body: unknown, more = {}) => {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json", ...more }
  const reply = await fetch(url + path, { method, headers, body: JSON.stringify(body) })
  const text = await reply.text()
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`)
  return text === "" ? undefined : JSON.parse(text)
}

const events = (round: number) =>
  ["ada", "bob", "ève 𝄞"].flatMap((userId, user) =>
    [1, 2, 3].map((n) => ({
      userId,
      action: n === 3 ? "READ" : "TAP",
      id: `${round}-${user}-${n}`,
      metadata: { score: n + 0.5, list: [null, true, { "ä\n": "\u2028" }] },
    })),
  )

await serve(8, async (url) => {
  const post = (path: string, body: unknown, more = {}) => ask(url, "POST", path, body, more)
  const settings = {
    timezone: "Europe/Berlin",
    streaks: [{ key: "daily", freezes: { initial: 1 } }],
  }
  await ask(url, "PATCH", "/v1/project", settings)
  const webhook = { url: "http://127.0.0.1:9/", events: ["*"] }
  await post("/v1/webhooks", webhook)
  const manual = await post("/v1/badges", { name: "Given", criteria: { kind: "manual" } })
  const reader = { kind: "action_count", target: 5, action: "READ" }
  await post("/v1/badges", { name: "Reader", criteria: reader })
  await post("/v1/rules", { action: "TAP", reward: { xp: 10 }, limit: { times: 50, per: "day" } })
  await post("/v1/rules", { action: "READ", reward: { points: 2 } })
  const steps = [{ key: "tap", action: "TAP", target: 2 }]
  await post("/v1/quests", { title: "Tap", reward: { xp: 5 }, steps, recurrence: "weekly" })
  const long = [{ key: "read", action: "READ", target: 50 }]
  await post("/v1/quests", { title: "Read", reward: { xp: 1, badgeId: manual.id }, steps: long })
  await post("/v1/events/batch", { events: events(1) }, { "Idempotency-Key": "batch-1" })
  await post("/v1/events", events(2)[0], { "Idempotency-Key": "one-1" })
  await post("/v1/users/bob/rewards", { type: "badge", badgeId: manual.id })
  const { eventId } = await post("/v1/events", { userId: "bob", action: "TAP", id: "undone" })
  await ask(url, "DELETE", `/v1/users/bob/events/${eventId}`, undefined)
  await ask(url, "PUT", "/v1/users/ada", { displayName: "Ada", attributes: { plan: "pro" } })
  await post("/v1/events", { userId: "gone", action: "TAP" })
  await ask(url, "DELETE", "/v1/users/gone", undefined)
})
await serve(0, async (url) => {
  const post = (path: string, body: unknown, more = {}) => ask(url, "POST", path, body, more)
  await post("/v1/events/batch", { events: events(3) }, { "Idempotency-Key": "batch-3" })
  await post("/v1/events", events(4)[0], { "Idempotency-Key": "one-4" })
})
await laurel(0, "snapshots", "create").ended
await laurel(0, "snapshots", "export", join(set, "export.ndjson")).ended

await mkdir(join(set, "journal"))
for (const name of await readdir(join(folder, "journal"))) {
  const bytes = await readFile(join(folder, "journal", name))
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end--
  await writeFile(join(set, "journal", name), bytes.subarray(0, end))
}
const [archive] = await readdir(join(folder, "archive"))
await writeFile(
  join(set, "manifest.json"),
  await readFile(join(folder, "archive", archive!, "manifest.json")),
)
const reader = new LmdbReader(join(folder, "live"))
let values = ""
for (const table of tables) {
  for (const [key, value] of reader.entries({ table, ...rangeOf(new Uint8Array()) })) {
    const [keyHex, valueHex] = [key, value].map((bytes) => Buffer.from(bytes).toString("hex"))
    values += `${table} ${keyHex} ${valueHex}\n`
  }
}
await reader.close()
await writeFile(join(set, "values.hex"), values)
await rm(folder, { recursive: true })
