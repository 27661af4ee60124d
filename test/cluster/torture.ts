/**
 * `npm run torture -- --cluster`: the chaos matrix. It injects each fault (`faults.ts`) at each
 * moment (`moments.ts`), with two runners in one round and three in the next, in an order that
 * depends on the seed. Callers check each reply (`Caller.ts`). After each fault all users are read,
 * and at intervals a runner with an empty directory folds the whole journal. With a log, which has
 * one line for each fault, a run continues where it ended.
 */
import { appendFileSync, cpSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import path from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { Effect } from "effect"
import { limits } from "../../src/Limits.ts"
import { findDamage } from "../../src/storage/lmdb/DatabaseCheck.ts"
import { Random } from "../simulation/random.ts"
import { Postgres } from "../storage/postgres/Postgres.ts"
import type { Finding } from "./Caller.ts"
import { type ClusterLoad, Loads } from "./ClusterLoad.ts"
import { ableIn, canMount, faults, ownFileSystem, removeFileSystem, type Scene } from "./faults.ts"
import { Inbox, inboxPaths } from "./Inbox.ts"
import { type Moment, moments, reach } from "./moments.ts"
import { Network } from "./Network.ts"
import { eventually, ownerOf } from "./Runner.ts"
import { type Cluster, loadedPartitions, startRunners } from "./startCluster.ts"

export interface ClusterTortureOptions {
  readonly seed: number
  /** Times that all faults are gone through. */
  readonly rounds: number
  readonly expirationMs: number
  /** 2 and 3 in turn, without it. */
  readonly runners: number | undefined
  /** A part of the names of faults. */
  readonly only: string | undefined
  readonly durationMs: number
  /** A file. */
  readonly log: string | undefined
  readonly say: (line: string) => void
}

/** One fault, and what came of it. */
export interface Struck {
  readonly seed: number
  readonly number: number
  readonly fault: string
  readonly moment: Moment
  readonly runners: number
  /** The one that the fault is about. */
  readonly partition: number
  /** Runners that the fault left able to serve. */
  readonly able: number
  /** Whether the moment was there when the fault struck. */
  readonly isThere: boolean
  /** The longest time without an acknowledgement, in that partition. */
  readonly partitionMs: number
  /** The same, of the project that had to wait longest. */
  readonly longestMs: number
  readonly acknowledged: number
  readonly refused: number
  /** Messages of webhooks that came again. */
  readonly again: number
  readonly findings: ReadonlyArray<Finding>
}

interface Cell {
  readonly number: number
  readonly fault: string
  readonly moment: Moment
  readonly runners: number
}

const nothing = {
  partition: 0,
  able: Number.NaN,
  isThere: false,
  partitionMs: Number.NaN,
  longestMs: Number.NaN,
  acknowledged: 0,
  refused: 0,
  again: 0,
}
/** Of each project. */
const callers = 3
const foldEvery = 40
/** After so many without an acknowledgement, the runners' lines are kept beside the log. */
const slowExpirations = 4

/** All faults of the run in order, the same for the same options. */
export const plan = ({
  only = "",
  rounds,
  runners,
  seed,
}: ClusterTortureOptions): ReadonlyArray<Cell> => {
  const names = Object.keys(faults).filter(
    (name) => name.includes(only) && (canMount || faults[name]!.needsMount === undefined),
  )
  return Array.from({ length: rounds }, (_, round) => {
    const random = new Random(seed + round)
    const cells = names.flatMap((fault) => moments.map((moment) => ({ fault, moment })))
    for (let index = cells.length - 1; index > 0; index--) {
      const other = random.integer(0, index)
      const swapped = cells[index]!
      cells[index] = cells[other]!
      cells[other] = swapped
    }
    return cells.map((cell) => ({ ...cell, runners: runners ?? 2 + (round % 2) }))
  })
    .flat()
    .map((cell, number) => ({ ...cell, number }))
}

/** A cluster under load with all that faults need. */
class Arena {
  readonly postgres: Postgres
  readonly network: Network
  readonly cluster: Cluster
  readonly loads: Loads
  readonly inboxes: ReadonlyMap<ClusterLoad, Inbox>
  readonly #expirationMs: number

  private constructor(
    postgres: Postgres,
    network: Network,
    cluster: Cluster,
    inboxes: ReadonlyMap<number, Inbox>,
    expirationMs: number,
  ) {
    this.postgres = postgres
    this.network = network
    this.cluster = cluster
    this.#expirationMs = expirationMs
    const urls = () => cluster.runners.slice(0, this.#count).map(({ url }) => url)
    this.inboxes = new Map(
      [...inboxes].map(([partition, inbox]) => {
        const load = cluster.load(callers, { partition, urls, restMs: 50 })
        inbox.onFound = (words) => load.found({ kind: "hook", words })
        return [load, inbox]
      }),
    )
    this.loads = new Loads([...this.inboxes.keys()])
  }

  /** Runners that take part now. */
  #count = 3

  static async make(expirationMs: number): Promise<Arena> {
    const postgres = await Postgres.make({ max_connections: "60" })
    const url = await postgres.schema("torture")
    const settings = {
      LAUREL_CLUSTER_LOCK_EXPIRATION: `${expirationMs} millis`,
      ...Inbox.settings,
    }
    const network = await Network.make(postgres, "torture", 3, settings)
    if (canMount) for (const runner of network.runners) ownFileSystem(runner)
    const cluster = await startRunners(
      network.runners,
      { ...settings, LAUREL_CLUSTER: url },
      limits.clusterPartitions,
    )
    const inboxes = new Map<number, Inbox>()
    for (const partition of loadedPartitions) {
      inboxes.set(partition, await Inbox.of(cluster, cluster.keys[partition - 1]!))
    }
    return new Arena(postgres, network, cluster, inboxes, expirationMs)
  }

  async setCount(count: number): Promise<void> {
    this.#count = count
    const last = this.cluster.runners[2]!
    if (count === 2 && last.isRunning) await last.end("SIGTERM")
    if (count === 3 && !last.isRunning) await last.start()
  }

  async strike({
    fault: name,
    moment,
    number,
    runners,
    seed,
  }: Cell & { readonly seed: number }): Promise<Struck> {
    const { cluster, loads, network, postgres } = this
    const random = new Random(seed * 1_000_003 + number)
    const fault = faults[name]!
    await this.setCount(runners)
    loads.resume()
    const acknowledged = loads.total
    const { refused } = loads
    const again = this.#again
    const known = new Set(loads.faults)
    const load = random.pick(loads.all)
    const { partition } = load
    const reached = await reach(moment, cluster, loads, load, random)
    const { leaving, isThere: isMomentThere, restore, ...roles } = reached
    const expirationMs = this.#expirationMs
    const around = { cluster, network, postgres, random, expirationMs }
    const scene: Scene = { ...around, ...roles, partition, leaving }
    loads.resetGap()
    const isThere = isMomentThere()
    await fault.strike(scene)
    const able = ableIn(scene, fault).length
    // Nobody called meanwhile: either the first calls come now, or only after the fault.
    const isLate = moment === "idle" && random.chance(0.5)
    if (!isLate) loads.resume()
    if (fault.expirations !== undefined) await delay(fault.expirations * expirationMs)
    else if (able > 0 && !isLate) await loads.progress(callers * 3)
    await Promise.all([fault.heal(scene), restore()])
    loads.resume()
    await loads.progress(callers * 12)
    const partitionMs = load.longestGapMs
    const longestMs = loads.longestGapMs
    await this.#everyoneServes()
    await loads.pause()
    for (const [load, inbox] of this.inboxes) {
      await cluster.expectBoard(load)
      await inbox.expect("/steady", load)
    }
    await this.#expectWholeDatabases()
    return {
      seed,
      number,
      fault: name,
      moment,
      runners,
      partition,
      able,
      isThere,
      partitionMs: Math.round(partitionMs),
      longestMs: Math.round(longestMs),
      acknowledged: loads.total - acknowledged,
      refused: loads.refused - refused,
      again: this.#again - again,
      findings: loads.faults.filter((each) => !known.has(each)),
    }
  }

  get #again(): number {
    return [...this.inboxes.values()].reduce((sum, { again }) => sum + again, 0)
  }

  /** Each partition has an owner again, and each runner answers for each project. */
  async #everyoneServes(): Promise<void> {
    for (const { url } of this.cluster.runners.slice(0, this.#count)) {
      for (const { key, partition } of this.loads.all) {
        await eventually(`an answer of ${url} for partition ${partition}`, async () => {
          const headers = { authorization: `Bearer ${key}` }
          const signal = AbortSignal.timeout(2_000)
          const { ok } = await fetch(`${url}/v1/users/user-0`, { headers, signal })
          return ok || undefined
        })
      }
    }
    for (let partition = 1; partition <= limits.clusterPartitions; partition++) {
      await ownerOf(this.cluster.runners, partition)
    }
  }

  /**
   * Each database under load has the entries that its sums count; the scan runs beside the server.
   */
  async #expectWholeDatabases(): Promise<void> {
    for (const { directory } of this.network.runners) {
      for (const partition of loadedPartitions) {
        const folder = path.join(directory, "partitions", String(partition), "live")
        if (!existsSync(path.join(folder, "data.mdb"))) continue
        const fault = await Effect.runPromise(findDamage(folder))
        if (fault !== undefined) throw new Error(fault)
      }
    }
  }

  /** Keeps the databases of the servers' loaded partitions, as evidence. */
  keepDatabases(where: string): void {
    for (const { directory, internal } of this.network.runners) {
      for (const partition of loadedPartitions) {
        const name = path.join("partitions", String(partition), "live")
        const from = path.join(directory, name)
        const to = path.join(where, internal.replace(":", "-"), name)
        if (existsSync(from)) cpSync(from, to, { recursive: true })
      }
    }
  }

  async fold(): Promise<ReadonlyArray<Finding>> {
    const known = new Set(this.loads.faults)
    await this.loads.pause()
    await this.cluster.expectExactlyOnce(this.loads.all)
    for (const [load, inbox] of this.inboxes) {
      for (const path of inboxPaths) await inbox.expect(path, load)
    }
    return this.loads.faults.filter((each) => !known.has(each))
  }

  async remove(): Promise<void> {
    await Promise.race([this.loads.stop(), delay(5_000)])
    for (const runner of this.network.runners) {
      if (!runner.isRunning) continue
      runner.signal("SIGCONT")
      await runner.end("SIGKILL")
    }
    if (canMount) for (const runner of this.network.runners) removeFileSystem(runner)
    await this.network.close()
    await this.postgres.remove()
    for (const inbox of this.inboxes.values()) await inbox.close()
  }

  /** The ends of the logs of all runners. */
  get logs(): string {
    return this.network.runners
      .map(({ internal, process }) => `== ${internal}\n${process.stderr.slice(-20_000)}`)
      .join("\n")
  }
}

const readLog = (log: string | undefined, seed: number): ReadonlyArray<Struck> => {
  if (log === undefined || !existsSync(log)) return []
  return readFileSync(log, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Struck)
    .filter((each) => each.seed === seed)
}

export const clusterTorture = async (
  options: ClusterTortureOptions,
): Promise<ReadonlyArray<Struck>> => {
  const { durationMs, expirationMs, log, say, seed } = options
  const struck: Array<Struck> = [...readLog(log, seed)]
  const done = new Set(struck.map(({ number }) => number))
  const deadline = performance.now() + durationMs
  let arena: Arena | undefined
  let sinceFold = 0
  let isStopping = false
  // Ends after the fault under way: processes and mounts of the run must not outlive it.
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.once(signal, () => {
      isStopping = true
    })
  }
  const note = (each: Struck): void => {
    struck.push(each)
    if (log !== undefined) appendFileSync(log, `${JSON.stringify(each)}\n`)
    const { acknowledged, fault, findings, isThere, moment, number, partition, runners } = each
    say(
      `${number}. ${fault}, ${moment}${isThere ? "" : " (missed)"}, ${runners} runners, partition ${partition}: ${each.partitionMs} ms, in any partition ${each.longestMs} ms, ${acknowledged} acknowledged`,
    )
    for (const { kind, words } of findings.slice(0, 5)) say(`   ${kind}: ${words}`)
  }
  try {
    for (const cell of plan(options)) {
      if (done.has(cell.number)) continue
      if (isStopping || performance.now() > deadline) break
      arena ??= await Arena.make(expirationMs)
      try {
        const each = await arena.strike({ ...cell, seed })
        note(each)
        if (log !== undefined && each.longestMs > slowExpirations * expirationMs) {
          writeFileSync(`${log}.${cell.number}.txt`, arena.logs)
        }
        if (each.findings.length > 0) throw new Error("its findings are above")
        if (++sinceFold % foldEvery === 0) {
          for (const { kind, words } of await arena.fold()) throw new Error(`${kind}: ${words}`)
          say("   a fresh fold of the journal is the same")
        }
      } catch (error) {
        const words = `${error}; ${arena.loads.faultWords}`
        if (struck.at(-1)?.number !== cell.number) {
          const findings = [{ kind: "failed", words }] as const
          note({ ...cell, ...nothing, seed, findings })
        }
        if (log !== undefined) {
          appendFileSync(`${log}.${cell.number}.txt`, `${words}\n${arena.logs}`)
          arena.keepDatabases(`${log}.${cell.number}.data`)
        }
        // With a new cluster.
        await arena.remove()
        arena = undefined
      }
    }
    for (const { kind, words } of (await arena?.fold()) ?? []) throw new Error(`${kind}: ${words}`)
  } finally {
    await arena?.remove()
  }
  return struck
}
