/**
 * Bounds the attempts under way of all endpoints. Endpoints whose last attempt failed may use half
 * of the slots, and new endpoints three quarters. While an attempt to a new endpoint is under way,
 * another attempt to it counts as failing. So endpoints that hang cannot take the slots of
 * endpoints that answer. An endpoint without a slot waits in the queue of its standing.
 *
 * The endpoints of one environment on one host share a part of the slots, divided in the same way.
 * Otherwise many webhooks to one receiver would multiply each event there, and take the slots of
 * other receivers.
 */
import { limits } from "../../Limits.ts"

const standings = ["proven", "unknown", "failing"] as const
export type Standing = (typeof standings)[number]

/** A number of slots, and the endpoints that wait for one of them. */
class Pool {
  readonly #most: Readonly<Record<Standing, number>>
  readonly waiting: Readonly<Record<Standing, Set<() => void>>> = {
    proven: new Set(),
    unknown: new Set(),
    failing: new Set(),
  }
  inUse = 0

  constructor(most: number) {
    this.#most = {
      proven: most,
      unknown: Math.max(1, Math.floor(0.75 * most)),
      failing: Math.max(1, Math.floor(0.5 * most)),
    }
  }

  has(standing: Standing): boolean {
    return this.inUse < this.#most[standing]
  }

  get isUnused(): boolean {
    return this.inUse === 0 && !standings.some((standing) => this.waiting[standing].size > 0)
  }

  offer(): void {
    for (const standing of standings) {
      const waiting = this.waiting[standing]
      if (waiting.size === 0 || !this.has(standing)) continue
      const [first] = waiting
      waiting.delete(first!)
      first!()
      return
    }
  }

  forget(wake: () => void): void {
    for (const standing of standings) this.waiting[standing].delete(wake)
  }
}

export class Slots {
  readonly #all: Pool
  readonly #hosts = new Map<string, Pool>()
  readonly #hostMost: number

  constructor(most: number, hostMost: number = limits.webhookAttemptsOfHostMax) {
    this.#all = new Pool(most)
    this.#hostMost = hostMost
  }

  get inUse(): number {
    return this.#all.inUse
  }

  /**
   * Whether a slot is free for every standing. Here and below, `host` is a host of an environment
   * (`hostOf`).
   */
  areFree(host: string): boolean {
    return this.#all.has("failing") && (this.#hosts.get(host)?.has("failing") ?? true)
  }

  /**
   * Takes a slot. If none is free, `wake` is called once when a slot may be free. `first`: no other
   * attempt to the endpoint is under way.
   */
  take(host: string, endpoint: Standing, first: boolean, wake: () => void): boolean {
    const standing = first ? endpoint : "failing"
    let ofHost = this.#hosts.get(host)
    const full = ofHost?.has(standing) === false ? ofHost : this.#all
    if (!full.has(standing)) {
      full.waiting[standing].add(wake)
      return false
    }
    if (ofHost === undefined) {
      ofHost = new Pool(this.#hostMost)
      this.#hosts.set(host, ofHost)
    }
    ofHost.inUse++
    this.#all.inUse++
    return true
  }

  release(host: string): void {
    const ofHost = this.#hosts.get(host)!
    ofHost.inUse--
    this.#all.inUse--
    this.offer(host)
    if (ofHost.isUnused) this.#hosts.delete(host)
  }

  /**
   * Wakes the next endpoint of the host that may take a slot, and the next of all endpoints. An
   * endpoint that takes no slot calls `offer` again.
   */
  offer(host: string): void {
    this.#hosts.get(host)?.offer()
    this.#all.offer()
  }

  /** Removes a waiting endpoint. */
  forget(host: string, wake: () => void): void {
    this.#hosts.get(host)?.forget(wake)
    this.#all.forget(wake)
  }
}

/** The name of a host in an environment. All ports of a host count as one receiver. */
export const hostOf = (environment: string, url: string): string =>
  `${environment} ${new URL(url).hostname}`
