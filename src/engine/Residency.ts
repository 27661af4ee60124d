/**
 * Which users are warm. A doubly linked list through the actors, newest use first, gives the order of
 * use at the cost of a few pointers. Users are passivated (forgotten by memory, found again in the
 * snapshot) when they were idle for `idlePassivateMs`, and, beyond `residentUsersMax`, oldest first.
 * Never passivated: an actor that runs, has unanswered commands, or is not wholly in the snapshot.
 */
import { Effect } from "effect"
import { limits } from "../Limits.ts"
import type { AnyActor } from "./Actor.ts"

export interface ResidencyOptions {
  readonly residentUsersMax: number
  readonly idlePassivateMs: number
  readonly now: () => number
  /** Everything up to this sequence is in the snapshot. */
  readonly watermark: () => number
  /** The actor's place in its environment is given up. */
  readonly forget: (actor: AnyActor) => void
}

export class Residency {
  readonly #options: ResidencyOptions
  readonly #touchEveryMs: number
  #newest: AnyActor | undefined
  #oldest: AnyActor | undefined
  size = 0

  constructor(options: ResidencyOptions) {
    this.#options = options
    this.#touchEveryMs = options.idlePassivateMs / 60
  }

  /** A new actor takes its place in the order. */
  add(actor: AnyActor): void {
    actor.usedAt = this.#options.now()
    this.#link(actor)
    this.size++
  }

  /** The actor was used. Its place is exact to a sixtieth of the time that it may be idle, so that a busy one costs nothing. */
  touch(actor: AnyActor): void {
    const now = this.#options.now()
    if (now - actor.usedAt < this.#touchEveryMs) return
    actor.usedAt = now
    if (actor === this.#newest) return
    this.#unlink(actor)
    this.#link(actor)
  }

  /** Whether there is room for one more, after passivating what may go. */
  makeRoom(): boolean {
    if (this.size <= this.#options.residentUsersMax) return true
    this.#passivate(passivationsPerActivation, () => this.size > this.#options.residentUsersMax)
    return this.size <= this.#options.residentUsersMax
  }

  /** Sweeps every `intervalMs`. Runs for ever. */
  readonly run = Effect.fnUntraced(function* (this: Residency, intervalMs: number) {
    while (true) {
      yield* Effect.sleep(intervalMs)
      this.sweep(limits.sweepActorsMax)
    }
  })

  /** Passivates what was idle too long, looking at no more than `actorsMax` actors. */
  sweep(actorsMax: number): void {
    const before = this.#options.now() - this.#options.idlePassivateMs
    this.#passivate(
      actorsMax,
      (actor) => actor.usedAt <= before || this.size > this.#options.residentUsersMax,
    )
  }

  #passivate(actorsMax: number, wanted: (actor: AnyActor) => boolean): void {
    let actor = this.#oldest
    const watermark = this.#options.watermark()
    for (let looked = 0; actor !== undefined && looked < actorsMax && wanted(actor); looked++) {
      const { newer } = actor
      if (!actor.running && actor.newest <= watermark && actor.unanswered === 0) {
        this.#unlink(actor)
        this.size--
        this.#options.forget(actor)
      }
      actor = newer
    }
  }

  #link(actor: AnyActor): void {
    actor.older = this.#newest
    actor.newer = undefined
    if (this.#newest !== undefined) this.#newest.newer = actor
    this.#newest = actor
    this.#oldest ??= actor
  }

  #unlink(actor: AnyActor): void {
    if (actor.newer === undefined) this.#newest = actor.older
    else actor.newer.older = actor.older
    if (actor.older === undefined) this.#oldest = actor.newer
    else actor.older.newer = actor.newer
  }
}

const passivationsPerActivation = 64
