/**
 * Several concurrent callers (`Caller.ts`), their findings, and the longest time without an
 * acknowledgement.
 */
import { setTimeout as delay } from "node:timers/promises"
import { waitMs } from "../waitMs.ts"
import { type Callers, type Expected, type Finding, HastyCaller, PatientCaller } from "./Caller.ts"

export interface LoadOptions {
  readonly key: string
  /** The partition of the key's project. */
  readonly partition?: number
  readonly urls: () => ReadonlyArray<string>
  /** The number of callers. The last of several sends events without ids. */
  readonly callers: number
  readonly name: string
  /** The pause of each caller after each write and its read. */
  readonly restMs?: number
}

export class ClusterLoad implements Callers {
  readonly key: string
  readonly partition: number
  readonly urls: () => ReadonlyArray<string>
  readonly faults: Array<Finding> = []
  /** The number of replies other than 200, by status and code. Status 0: no reply. */
  readonly statuses = new Map<string, number>()
  /** Events and rewards that were acknowledged. */
  total = 0
  /** The longest time between two acknowledgements, of all callers together. */
  longestGapMs = 0
  /** Called with Laurel's id of each acknowledged write. */
  onAcknowledged: (id: string) => void = () => {}
  readonly #restMs: number
  #lastAt = performance.now()
  #stopped = false
  #paused: PromiseWithResolvers<void> | undefined
  /** Callers between two requests while the load is paused. */
  #resting = 0
  readonly #callers: ReadonlyArray<PatientCaller | HastyCaller>
  readonly #running: ReadonlyArray<Promise<void>>

  constructor({ callers, key, name, partition = 1, restMs = 0, urls }: LoadOptions) {
    this.key = key
    this.partition = partition
    this.#restMs = restMs
    this.urls = urls
    this.#callers = Array.from({ length: callers }, (_, index) => {
      const Kind = index > 0 && index === callers - 1 ? HastyCaller : PatientCaller
      return new Kind(this, `${name}-${index}`, index)
    })
    this.#running = this.#callers.map((caller) =>
      caller.run().catch((error) => {
        this.found({ kind: "failed", words: String(error) })
      }),
    )
  }

  /** The xp that each user must have. */
  get expected(): ReadonlyMap<string, Expected> {
    return new Map(this.#callers.map(({ expected, userId }) => [userId, expected]))
  }

  /** Measures the longest gap from now on. */
  resetGap(): void {
    this.longestGapMs = 0
    this.#lastAt = performance.now()
  }

  /** Ends after `events` more acknowledgements. */
  async progress(events: number): Promise<void> {
    const until = this.total + events
    const deadline = performance.now() + waitMs
    while (this.total < until) {
      if (performance.now() > deadline) {
        throw new Error(`No progress within ${waitMs} ms: ${this.faultWords}`)
      }
      await delay(10)
    }
  }

  get faultWords(): string {
    return JSON.stringify([this.faults, ...this.statuses])
  }

  /** Ends when no request is in progress. */
  async pause(): Promise<void> {
    this.#paused ??= Promise.withResolvers()
    while (this.#resting < this.#callers.length && this.faults.length === 0) await delay(10)
  }

  resume(): void {
    // Callers that were never paused keep the time of their last acknowledgement.
    if (this.#paused === undefined) return
    this.#lastAt = performance.now()
    this.#paused.resolve()
    this.#paused = undefined
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.resume()
    await Promise.all(this.#running)
  }

  async turn(): Promise<boolean> {
    if (this.#restMs > 0) await delay(this.#restMs)
    if (this.#paused !== undefined) {
      this.#resting++
      await this.#paused.promise
      this.#resting--
    }
    return !this.#stopped
  }

  acknowledged(id: string): void {
    this.total++
    const now = performance.now()
    this.longestGapMs = Math.max(this.longestGapMs, now - this.#lastAt)
    this.#lastAt = now
    this.onAcknowledged(id)
  }

  answered(name: string): void {
    this.statuses.set(name, (this.statuses.get(name) ?? 0) + 1)
  }

  found(finding: Finding): void {
    this.faults.push(finding)
  }
}

/** The loads of several projects. */
export class Loads {
  readonly all: ReadonlyArray<ClusterLoad>

  constructor(all: ReadonlyArray<ClusterLoad>) {
    this.all = all
  }

  get total(): number {
    return this.all.reduce((sum, { total }) => sum + total, 0)
  }

  get refused(): number {
    const refusals = this.all.flatMap(({ statuses }) => [...statuses])
    return refusals.reduce((sum, [name, count]) => sum + (name.startsWith("503") ? count : 0), 0)
  }

  get faults(): ReadonlyArray<Finding> {
    return this.all.flatMap(({ faults }) => faults)
  }

  get faultWords(): string {
    return this.all.map(({ faultWords, partition }) => `${partition}: ${faultWords}`).join("; ")
  }

  /** The longest gap of all projects. */
  get longestGapMs(): number {
    return Math.max(...this.all.map(({ longestGapMs }) => longestGapMs))
  }

  resetGap(): void {
    for (const load of this.all) load.resetGap()
  }

  /** Ends after `events` more acknowledgements in each project. */
  async progress(events: number): Promise<void> {
    await Promise.all(this.all.map((load) => load.progress(events)))
  }

  async pause(): Promise<void> {
    await Promise.all(this.all.map((load) => load.pause()))
  }

  resume(): void {
    for (const load of this.all) load.resume()
  }

  async stop(): Promise<void> {
    await Promise.all(this.all.map((load) => load.stop()))
  }
}
