/**
 * `kill -9` in short cycles with webhooks on: at any moment of a start, of expanding, sending, snapshots and erasures.
 * After each kill the tables of webhooks are checked as `snapshots verify` does; what receivers answered with 2xx
 * must not come again but for what a kill forgets; no server may log a defect. Every few cycles all that was
 * acknowledged is compared (`torture.ts`), and in the end every message must have arrived.
 */
import { cp, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { Effect } from "effect"
import { SavedState } from "../../src/engine/archive/check/SavedState.ts"
import { WebhookCheck } from "../../src/engine/archive/check/WebhookCheck.ts"
import { Random } from "../simulation/random.ts"
import { waitMs } from "../waitMs.ts"
import { createRule, request, send } from "./Client.ts"
import { Hooks, hookPaths } from "./Hooks.ts"
import { eventXp, Ledger, type Sent } from "./Ledger.ts"
import { command, ServerProcess } from "./ServerProcess.ts"
import { check, firstKey } from "./torture.ts"

export interface KillOptions {
  readonly seed: number
  /** Ends after so many kills, or when the time is over. */
  readonly kills: number
  readonly durationMs: number
  /** A message that comes again after a 2xx this long before a kill is a fault. */
  readonly forgottenMs: number
  readonly say: (line: string) => void
}

export interface KillSummary {
  readonly kills: number
  /** Of those, before the server was ready. */
  readonly early: number
  readonly attempts: number
  readonly again: number
  readonly againMsMax: number
  readonly erased: number
  readonly acknowledged: number
  readonly faults: ReadonlyArray<string>
}

const clients = 3
const pauseMs = 5
const cyclesPerCheck = 25
const settings = {
  LAUREL_WEBHOOK_ALLOW_CIDR: "127.0.0.0/8",
  LAUREL_WEBHOOK_RETRY_SCHEDULE: "0,1,1,1,1,2,2,2,2,3,3,3,3,5,5,5,5,5,5,5",
  LAUREL_WEBHOOK_LOG_MAX: "1500",
}

class Run {
  readonly #options: KillOptions
  readonly #random: Random
  readonly #ledger = new Ledger()
  readonly #hooks: Hooks
  readonly #directory: string
  readonly #faults: Array<string> = []
  readonly #acknowledged = new Set<string>()
  /** Milliseconds that a start took. */
  #startMs = 1_500
  #kills = 0
  #early = 0
  #erased = 0
  #key = ""
  #evidence: string | undefined

  constructor(options: KillOptions, directory: string) {
    this.#options = options
    this.#random = new Random(options.seed)
    this.#hooks = new Hooks(this.#random, options.forgottenMs)
    this.#directory = directory
  }

  async run(): Promise<KillSummary> {
    const { durationMs, kills, say } = this.#options
    const startedAt = performance.now()
    await this.#hooks.listen()
    try {
      await this.#prepare()
      while (this.#kills < kills && performance.now() - startedAt < durationMs) {
        await this.#cycle()
        const each = Math.round((performance.now() - startedAt) / this.#kills)
        if (this.#kills % cyclesPerCheck === 0) {
          say(
            `${this.#kills} kills (${this.#early} early), ${each} ms each; ${this.#hooks.attempts} attempts, ${this.#hooks.again} again (${this.#hooks.againMsMax} ms at most), ${this.#erased} erased, ${this.#faults.length} faults`,
          )
        }
      }
      await this.#finish()
    } finally {
      await this.#hooks.stop()
    }
    const { again, againMsMax, attempts } = this.#hooks
    return {
      kills: this.#kills,
      early: this.#early,
      attempts,
      again,
      againMsMax,
      erased: this.#erased,
      acknowledged: this.#ledger.acknowledged,
      faults: this.#faults,
    }
  }

  async #prepare(): Promise<void> {
    const server = await this.#serve()
    this.#key = await firstKey(this.#directory)
    for (const path of hookPaths) {
      const body = {
        url: this.#hooks.url(path),
        events: path === "/steady" ? ["*"] : ["event.tracked", "user.*"],
      }
      const made = await request(server.url, this.#key, "/v1/webhooks", { body, headers: {} })
      const { secret } = made!.body as { readonly secret?: string }
      if (secret === undefined) throw new Error(`No webhook: ${JSON.stringify(made!.body)}`)
      this.#hooks.secrets.set(path, secret)
    }
    await createRule(server, this.#key, eventXp)
    await server.end("SIGTERM")
  }

  /** A server that is ready. */
  async #serve(): Promise<ServerProcess> {
    const startedAt = performance.now()
    const server = await ServerProcess.serve(this.#directory, { settings })
    if (server.hasEnded) throw new Error(`The server did not start:\n${server.stderr}`)
    this.#startMs = 0.9 * this.#startMs + 0.1 * (performance.now() - startedAt)
    return server
  }

  async #cycle(): Promise<void> {
    const random = this.#random
    let server: ServerProcess
    if (random.chance(0.3)) {
      server = new ServerProcess(["serve"], this.#directory, { settings })
      // Most of a start loads the program.
      await delay(this.#startMs * (0.3 + 0.9 * random.next()))
      this.#early++
    } else {
      server = await this.#serve()
      if (this.#kills % cyclesPerCheck === 1) await this.#compare(server)
      // On a busy machine a server needs longer for the same.
      const share = random.integer(2, random.pick([10, 40, 100])) / 100
      await this.#load(server, Math.max(1_200, this.#startMs) * share)
    }
    const killedAt = Date.now()
    const end = await server.end("SIGKILL")
    await this.#hooks.killed(killedAt)
    if (end !== "SIGKILL") this.#fault(`The server ended with ${end}:\n${server.stderr}`)
    this.#kills++
    await this.#look(server)
  }

  /** Sends for so long; the last answers may never come. */
  async #load(server: ServerProcess, ms: number): Promise<void> {
    const until = performance.now() + ms
    const goesOn = () => performance.now() < until && !server.hasEnded
    const one = async () => {
      while (goesOn()) {
        const sent = this.#ledger.next(this.#random)
        await this.#send(server, sent)
        await delay(pauseMs)
      }
    }
    const loaded = Promise.all([
      ...Array.from({ length: clients }, one),
      this.#random.chance(0.5) ? this.#erase(server) : undefined,
    ])
    await Promise.race([loaded, delay(ms)])
  }

  async #send(server: ServerProcess, sent: Sent): Promise<void> {
    const answer = await send(server.url, this.#key, sent)
    if (answer !== undefined) this.#ledger.acknowledge(sent, answer.ids)
  }

  /** Users of their own come and are erased. */
  async #erase(server: ServerProcess): Promise<void> {
    const userId = `gone-${this.#kills}`
    for (let event = 0; event < 3; event++) {
      const body = { userId, action: "TAP", metadata: { userId } }
      await request(server.url, this.#key, "/v1/events", { body, headers: {} })
    }
    const erased = await request(server.url, this.#key, `/v1/users/${userId}`, undefined, "DELETE")
    if (erased?.response.ok === true) this.#erased++
  }

  /** Everything of the last cycles, sent again, is known. */
  async #compare(server: ServerProcess): Promise<void> {
    const { round } = this.#ledger
    await check(server, this.#key, this.#ledger)
    for (const { acknowledged } of round) for (const id of acknowledged!) this.#acknowledged.add(id)
    for (const words of this.#ledger.lost.splice(0)) this.#fault(`lost: ${words}`)
  }

  async #look({ stderr }: ServerProcess): Promise<void> {
    const defect = /.*(TypeError|crashed|"level":"(ERROR|FATAL)").*/.exec(stderr)?.[0]
    if (defect !== undefined) this.#fault(`log: ${defect.slice(0, 1_000)}`)
    for (const words of this.#hooks.faults.splice(0)) this.#fault(words)
    const fault = (words: string) => this.#fault(words)
    const checked = Effect.gen({ self: this }, function* () {
      const saved = yield* SavedState.open({ folder: this.#directory, fault })
      new WebhookCheck(saved, fault).run(saved.readProjects())
    })
    await Effect.runPromise(Effect.scoped(checked))
    if (this.#faults.length > 0 && this.#evidence === undefined) {
      this.#evidence = `${this.#directory}-evidence`
      await cp(this.#directory, this.#evidence, { recursive: true })
      this.#options.say(`Evidence of the first fault: ${this.#evidence}`)
    }
  }

  #fault(words: string): void {
    this.#faults.push(`after ${this.#kills} kills: ${words}`)
    if (this.#faults.length <= 50) this.#options.say(`FAULT after ${this.#kills} kills: ${words}`)
  }

  /** Nobody kills any more: every message arrives. */
  async #finish(): Promise<void> {
    const server = await this.#serve()
    await this.#compare(server)
    const missing = () => [...this.#acknowledged].filter((id) => !this.#hooks.told.has(id))
    const until = performance.now() + waitMs
    while (missing().length > 0 && performance.now() < until) await delay(100)
    for (const id of missing().slice(0, 10)) this.#fault(`${id} never came`)
    await server.end("SIGTERM")
    await this.#look(server)
    await command(["snapshots", "verify"], this.#directory)
  }
}

export const kills = async (options: KillOptions): Promise<KillSummary> => {
  const directory = await mkdtemp(join(tmpdir(), "laurel-kills-"))
  try {
    return await new Run(options, directory).run()
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
