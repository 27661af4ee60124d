/**
 * deploy/alerts.yml in Debian's Prometheus, which scrapes real servers at their faults. The rules are a copy with shorter
 * times to wait (`for`) and to look back; expressions and thresholds are those of the file. test/deploy/alerts.yml has the
 * unit tests of all alerts with their own times.
 */
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { commandEnd } from "../cli/commands.ts"
import { Output, root, Server, temporaryFolder } from "../e2e/program.ts"
import { freePort } from "../freePorts.ts"
import { answer, Receiver } from "../webhooks/Receiver.ts"
import { programOf } from "./tools.ts"

const prometheus = programOf("prometheus", "prometheus")
const wrk = programOf("wrk", "wrk")
const hourMs = 3_600_000

/** Loaded before the program. */
const loaded = (code: string) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}`,
})

const clockAhead = loaded(`const {now} = Date; Date.now = () => now() + ${7 * hourMs}`)

/** Prometheus that scrapes one server. */
class Watch {
  readonly #api: string

  private constructor(api: string) {
    this.#api = api
  }

  static async start(adminPort: number): Promise<Watch> {
    const folder = await temporaryFolder()
    const rules = (await readFile(join(root, "deploy/alerts.yml"), "utf8"))
      .replaceAll(/^( +for:) .*/gm, "$1 2s")
      .replaceAll(/\[(5m|10m|15m|1h)\]/g, "[20s]")
    await writeFile(join(folder, "alerts.yml"), rules)
    const configuration = (await readFile(join(root, "deploy/prometheus.yml"), "utf8"))
      .replaceAll("interval: 15s", "interval: 1s")
      .replace("laurel:8081", `127.0.0.1:${adminPort}`)
    expect(configuration).toContain(String(adminPort))
    await writeFile(join(folder, "prometheus.yml"), configuration)
    const port = await freePort()
    const args = [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]
    const child = spawn(prometheus, args, { stdio: ["ignore", "ignore", "pipe"] })
    const ended = once(child, "exit")
    onTestFinished(async () => {
      child.kill("SIGTERM")
      await ended
    })
    await new Output(child.stderr).waitFor(/Server is ready/)
    const watch = new Watch(`http://127.0.0.1:${port}/api/v1`)
    await expect.poll(() => watch.value("up"), patiently).toBe(1)
    return watch
  }

  // biome-ignore lint/suspicious/noExplicitAny: as Prometheus documents it
  async #get(path: string): Promise<any> {
    return ((await (await fetch(`${this.#api}/${path}`)).json()) as { readonly data: unknown }).data
  }

  async value(query: string): Promise<number | undefined> {
    const { result } = await this.#get(`query?query=${encodeURIComponent(query)}`)
    return result[0] === undefined ? undefined : Number(result[0].value[1])
  }

  async firing(): Promise<ReadonlyArray<string>> {
    const { alerts } = await this.#get("alerts")
    return alerts
      .filter(({ state }: { readonly state: string }) => state === "firing")
      .map(({ labels }: { readonly labels: { readonly alertname: string } }) => labels.alertname)
  }

  async until(alert: string): Promise<void> {
    await expect.poll(() => this.firing(), patiently).toContain(alert)
  }
}

/** Signals of Prometheus are waited for. */
const patiently = { timeout: 100_000, interval: 100 } as const

const start = async (folder: string, variables: Record<string, string> = {}) => {
  const adminPort = await freePort()
  const server = await Server.start(folder, {
    LAUREL_ADMIN_PORT: String(adminPort),
    ...variables,
  })
  return { adminPort, server }
}

/** A file system of its own. */
const mounted = async (mebibytes: number): Promise<string> => {
  const folder = await temporaryFolder()
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${mebibytes}m,mode=777`, "tmpfs", folder])
  onTestFinished(() => void execFileSync("umount", ["-l", folder]))
  return folder
}

const fill = (folder: string, mebibytes: number) =>
  writeFile(join(folder, "ballast"), Buffer.alloc(mebibytes * 1024 * 1024))

const event = (userId: string, bytes = 1) => ({
  userId,
  action: "A",
  metadata: { text: "x".repeat(bytes) },
})

test("a server that works, and then is gone", async () => {
  const { adminPort, server } = await start(await temporaryFolder())
  const watch = await Watch.start(adminPort)
  const key = await server.createKey()
  await server.request(key, "POST", "/v1/events", event("ada"))
  await expect.poll(() => watch.value("laurel_events_total{outcome='tracked'}"), patiently).toBe(1)
  // The disk of this machine may be nearly full.
  const healthy = (await watch.firing()).filter((alert) => !alert.startsWith("LaurelDisk"))
  expect(healthy).toEqual([])
  await server.stop("SIGKILL")
  await watch.until("LaurelDown")
})

test("a disk that is low, then full", async () => {
  const disk = await mounted(160)
  const data = join(disk, "data")
  await mkdir(data)
  const { adminPort, server } = await start(data, { LAUREL_SNAPSHOT_INTERVAL: "1 second" })
  const watch = await Watch.start(adminPort)
  await watch.until("LaurelDiskLow")
  const key = await server.createKey()
  await fill(disk, 100)
  for (let n = 0; (await watch.value("laurel_storage_stalled")) !== 1; n++) {
    await Promise.race([
      server.request(key, "POST", "/v1/events", event(`u${n}`, 10_000)).catch(() => {}),
      server.stderr.waitFor(/Disk full: refusing writes/),
    ])
  }
  await watch.until("LaurelDiskFull")
  await rm(join(disk, "ballast"))
  await expect.poll(() => watch.firing(), patiently).not.toContain("LaurelDiskFull")
})

test("a disk that does not answer", async () => {
  const held = join(await temporaryFolder(), "held")
  const hold = `
    import fs from "node:fs"
    const { writev } = fs
    fs.writev = (...args) => fs.existsSync(${JSON.stringify(held)}) ? undefined : writev(...args)`
  const { adminPort, server } = await start(await temporaryFolder(), loaded(hold))
  const watch = await Watch.start(adminPort)
  const key = await server.createKey()
  expect((await server.request(key, "POST", "/v1/events", event("ada"))).status).toBe(200)
  await writeFile(held, "")
  const unanswered = server.request(key, "POST", "/v1/events", event("bob")).catch(() => "no reply")
  // Before the deadline of a write ends the process.
  await watch.until("LaurelCommitStalled")
  expect(await server.ended).toBe(74)
  expect(await unanswered).toBe("no reply")
  await watch.until("LaurelDown")
})

test("a disk that is slow", async () => {
  const slow = `
    import fs from "node:fs"
    const { writev } = fs
    fs.writev = (...args) => setTimeout(() => writev(...args), 300)`
  const { adminPort, server } = await start(await temporaryFolder(), loaded(slow))
  const watch = await Watch.start(adminPort)
  const key = await server.createKey()
  let slept = false
  const writes = (async () => {
    while (!slept) await server.request(key, "POST", "/v1/events", event("ada"))
  })()
  await watch.until("LaurelFlushSlow")
  slept = true
  await writes
})

test("webhooks that fail, archives that are not made, a clock that is wrong", async () => {
  const receiver = await Receiver.start()
  onTestFinished(() => receiver.stop())
  const gone = await Receiver.start()
  onTestFinished(() => gone.stop())
  receiver.answer = answer(500)
  gone.answer = answer(410)
  const folder = await temporaryFolder()
  const archives = await mounted(160)
  const variables = {
    LAUREL_WEBHOOK_ALLOW_CIDR: "127.0.0.0/8",
    LAUREL_ARCHIVE_DIR: archives,
    LAUREL_ADMIN_PORT: String(await freePort()),
  }
  const first = await start(folder, variables)
  const watch = await Watch.start(Number(variables.LAUREL_ADMIN_PORT))
  const key = await first.server.createKey()
  await first.server.request(key, "POST", "/v1/rules", { action: "A", reward: { xp: 1 } })
  const send = (userId: string) => first.server.request(key, "POST", "/v1/events", event(userId))
  const hook = { url: receiver.url(), events: ["xp.earned"] }
  expect((await first.server.request(key, "POST", "/v1/webhooks", hook)).status).toBe(201)
  await send("ada")
  await watch.until("LaurelWebhooksFail")
  await watch.until("LaurelWebhookFailing")
  const goneHook = { url: gone.url(), events: ["xp.earned"] }
  await first.server.request(key, "POST", "/v1/webhooks", goneHook)
  await send("bob")
  await watch.until("LaurelWebhookGivenUp")

  expect((await commandEnd(["snapshots", "create"], folder)).code).toBe(0)
  await first.server.stop()
  await fill(archives, 100)
  const later = await start(folder, { ...variables, ...clockAhead })
  await watch.until("LaurelArchiveOld")
  await watch.until("LaurelWebhooksLate")
  // This server dates its records by its own clock.
  await later.server.request(key, "POST", "/v1/events", event("eve"))
  await later.server.stop()
  await start(folder, variables)
  await watch.until("LaurelClock")
})

test("more requests than the processor can answer", async () => {
  const { adminPort, server } = await start(await temporaryFolder())
  const watch = await Watch.start(adminPort)
  const key = await server.createKey()
  const args = ["--threads=1", "--connections=2000", "--duration=100s"]
  const url = `${server.url}/v1/leaderboard`
  const load = spawn(wrk, [...args, "--header", `Authorization: Bearer ${key}`, url])
  const ended = once(load, "exit")
  onTestFinished(async () => {
    load.kill("SIGKILL")
    await ended
  })
  await watch.until("LaurelRefusing")
})
