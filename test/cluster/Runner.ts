/**
 * A runner of a cluster: the real program. Its data directory and addresses stay the same across
 * its starts.
 */

import { once } from "node:events"
import { readFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import os from "node:os"
import path from "node:path"
import { freePorts } from "../freePorts.ts"
import { type End, ServerProcess, type Trouble } from "../torture/ServerProcess.ts"
import { waitMs } from "../waitMs.ts"

/** Those that are not removed. */
const all = new Set<Runner>()

export class Runner {
  readonly url: string
  readonly internal: string
  readonly admin: string
  readonly directory: string
  readonly #settings: Readonly<Record<string, string>>
  /** For the next start. */
  trouble: Omit<Trouble, "settings"> = {}
  /** Further settings, for the next start. */
  more: Readonly<Record<string, string>> = {}
  process!: ServerProcess

  private constructor(
    directory: string,
    [port, internal, admin]: ReadonlyArray<number>,
    settings: Readonly<Record<string, string>>,
  ) {
    this.directory = directory
    this.url = `http://127.0.0.1:${port}`
    this.admin = `http://127.0.0.1:${admin}`
    this.internal = `127.0.0.1:${internal}`
    this.#settings = {
      LAUREL_PORT: String(port),
      LAUREL_ADMIN_PORT: String(admin),
      LAUREL_CLUSTER_ADDRESS: this.internal,
      LAUREL_ARCHIVE_INTERVAL: "off",
      LAUREL_LOG_FORMAT: "json",
      ...settings,
    }
  }

  static async make(settings: Readonly<Record<string, string>>): Promise<Runner> {
    const directory = await mkdtemp(path.join(os.tmpdir(), "laurel-runner-"))
    const runner = new Runner(directory, await freePorts(3), settings)
    all.add(runner)
    return runner
  }

  /**
   * Starts the program, also again after it ended. Ends once it listens and has joined the cluster.
   */
  async start(): Promise<void> {
    this.process = this.run(["serve"], this.trouble)
    if (!(await this.process.heard(/"message":"Joined the cluster"/))) {
      throw new Error(`The runner ended: ${this.process.stderr}`)
    }
  }

  /** Runs a command with the settings of this runner. */
  run(args: ReadonlyArray<string>, trouble: Omit<Trouble, "settings"> = {}): ServerProcess {
    return new ServerProcess(args, this.directory, {
      ...trouble,
      settings: { ...this.#settings, ...this.more },
    })
  }

  get isRunning(): boolean {
    return this.process !== undefined && !hasExited(this.process)
  }

  signal(signal: NodeJS.Signals): void {
    this.process.process.kill(signal)
  }

  /** Ends when its worker processes have ended too. */
  end(signal: NodeJS.Signals): Promise<End> {
    return this.process.end(signal)
  }

  /**
   * `kill -9`. Does not wait for its worker processes, which have the lowest priority and may end
   * much later.
   */
  async kill(): Promise<void> {
    if (!this.isRunning) return
    const exited = once(this.process.process, "exit")
    this.signal("SIGKILL")
    await exited
  }

  /** Makes another runner with the same cluster address. */
  async twin(): Promise<Runner> {
    return Runner.make({ ...this.#settings, LAUREL_PORT: "0", LAUREL_ADMIN_PORT: "0" })
  }

  /** Returns the current value of a metric. */
  async metric(name: string): Promise<number> {
    const text = await this.#metrics()
    const line = text.split("\n").find((each) => each.startsWith(`${name} `))
    return Number(line?.slice(name.length))
  }

  async #metrics(): Promise<string> {
    const signal = AbortSignal.timeout(2_000)
    const reply = await fetch(`${this.admin}/metrics`, { signal })
    return reply.text()
  }

  /** Whether it serves a partition now. */
  async serves(partition = 1): Promise<boolean> {
    return (await this.#partitionsWith("serving")).includes(partition)
  }

  /** Whether it follows the owner of a partition, ready to take over. */
  async follows(partition = 1): Promise<boolean> {
    return (await this.#partitionsWith("following")).includes(partition)
  }

  /** The partitions that it serves now. Empty if it does not answer. */
  async served(): Promise<ReadonlyArray<number>> {
    return this.isRunning ? this.#partitionsWith("serving").catch(() => []) : []
  }

  async #partitionsWith(state: "serving" | "following"): Promise<ReadonlyArray<number>> {
    const line = new RegExp(`^laurel_cluster_${state}\\{partition="(\\d+)"\\} 1$`, "gm")
    return [...(await this.#metrics()).matchAll(line)].map(([, partition]) => Number(partition))
  }

  /** Sends a request with the operator's token to its admin server. With `body`, a POST. */
  asOperator(target: string, body?: unknown): Promise<Response> {
    const { token } = JSON.parse(readFileSync(path.join(this.directory, "server.json"), "utf8"))
    return fetch(`${this.admin}${target}`, {
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
    })
  }

  /** Creates a key as its operator does, and the project if it does not exist. */
  async createKey(project: string, more: Readonly<Record<string, string>> = {}): Promise<string> {
    const request = { project, environment: "sandbox", scope: "full", ...more }
    const reply = await this.asOperator("/admin/keys", request)
    if (reply.status !== 201) throw new Error(`${reply.status} ${await reply.text()}`)
    return ((await reply.json()) as { readonly key: string }).key
  }

  /** The key that the first start of a cluster creates, if this runner created it. */
  get firstKey(): string | undefined {
    try {
      return readFileSync(path.join(this.directory, "first-key"), "utf8").trim() || undefined
    } catch {
      return undefined
    }
  }

  /** The end of its log, for the report of a failure. */
  get lastWords(): string {
    const { exitCode, signalCode } = this.process?.process ?? {}
    const end = exitCode ?? signalCode ?? "runs"
    const lines = (this.process?.stderr ?? "").trimEnd().split("\n").slice(-30)
    return [`${this.url} (${end}):`, ...lines.map((line) => line.slice(0, 500))].join("\n  ")
  }

  async remove(): Promise<void> {
    all.delete(this)
    if (this.isRunning) {
      this.signal("SIGCONT")
      await this.kill()
    }
    await this.process?.ended
    await rm(this.directory, { recursive: true, force: true })
  }
}

const hasExited = ({ process: { exitCode, signalCode } }: ServerProcess): boolean =>
  exitCode !== null || signalCode !== null

/**
 * Polls until `look` returns a value. The error has the last failure, and the end of each runner's
 * log.
 */
export const eventually = async <A>(
  what: string,
  look: () => Promise<A | undefined>,
): Promise<A> => {
  const deadline = performance.now() + waitMs
  let failure = ""
  while (performance.now() < deadline) {
    const found = await look().catch((error) => {
      failure = `; ${error}`
      return undefined
    })
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const logs = Array.from(all, ({ lastWords }) => `\n${lastWords}`).join("")
  throw new Error(`Not within ${waitMs} ms: ${what}${failure}${logs}`)
}

/** Ends once the runner is ready to take over. */
export const followed = (runner: Runner, partition = 1): Promise<boolean> =>
  eventually("a follower", async () => (await runner.follows(partition)) || undefined)

/** The runner that serves. */
export const ownerOf = (runners: ReadonlyArray<Runner>, partition = 1): Promise<Runner> =>
  eventually(`an owner of partition ${partition}`, async () => {
    for (const runner of runners) {
      if ((await runner.served()).includes(partition)) return runner
    }
    return undefined
  })
