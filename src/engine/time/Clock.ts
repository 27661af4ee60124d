/**
 * The one clock of a server: what records are dated with, when windows end, when something expires. The machine's clock
 * may be set, may be wrong, and is wrong for a moment after a boot; records must stay in the order of their times, since
 * they are searched by time, and a wrong date can not be taken back.
 *
 * - Time begins at the newest record's, or at the machine's where that is later.
 * - It never goes back. If the machine's clock is behind, time runs at `clockSlewRate` of its speed until that clock has
 *   caught up: 10 hours for an hour.
 * - If the machine's clock jumps ahead of the monotonic clock by more than `clockStepMs`, time follows the monotonic clock.
 *   A jump that lasts for `clockJumpStandsMs` is followed, since a suspended machine makes such a jump; one of more
 *   than `jumpMsMax` is not, nor at the start, until the operator allows it (`LAUREL_CLOCK_JUMP_MAX`).
 *
 * Cost: one reading of the machine's clock; of the monotonic clock only once in a millisecond.
 */
import type { Clock } from "effect"
import { limits } from "../../Limits.ts"

/** A step of the machine's clock, in milliseconds ahead of the engine's clock or behind it. */
export type ClockStep =
  /** It jumped ahead and is not believed, for now or until it is allowed. */
  | { readonly kind: "refused"; readonly aheadMs: number; readonly untilAllowed: boolean }
  /** The jump that was refused stood, and is believed now. */
  | { readonly kind: "believed"; readonly aheadMs: number }
  /** The jump that was refused is over. */
  | { readonly kind: "withdrawn"; readonly aheadMs: number }
  /** It is behind the newest time. */
  | { readonly kind: "behind"; readonly behindMs: number }

export interface EngineClockOptions {
  readonly clock: Clock.Clock
  /** The time of the newest record, epoch milliseconds; `undefined`: there is none. */
  readonly latest: number | undefined
  readonly jumpMsMax: number
  readonly onStep: (step: ClockStep) => void
}

/** By how much `wall` is further ahead of the newest record than is allowed, milliseconds; 0: it is not. */
export const refusedAtStart = (
  latest: number | undefined,
  wall: number,
  jumpMsMax: number,
): number => (latest === undefined || wall - latest <= jumpMsMax ? 0 : wall - latest)

export class EngineClock {
  readonly #clock: Clock.Clock
  readonly #jumpMsMax: number
  readonly #onStep: (step: ClockStep) => void
  readonly #monotonicZero: bigint
  #time: number
  #wall: number
  #monotonicMs = 0
  #refused: { readonly aheadMs: number; readonly since: number } | undefined
  #behind = false

  constructor({ clock, jumpMsMax, latest, onStep }: EngineClockOptions) {
    this.#clock = clock
    this.#jumpMsMax = jumpMsMax
    this.#onStep = onStep
    this.#monotonicZero = clock.monotonicTimeNanosUnsafe()
    this.#wall = clock.currentTimeMillisUnsafe()
    this.#time = latest ?? this.#wall
    const aheadMs = refusedAtStart(latest, this.#wall, jumpMsMax)
    if (aheadMs > 0) this.#refuse(aheadMs)
    else this.#follow(this.#wall, 0)
  }

  /** Epoch milliseconds that never go back. */
  readonly now = (): number => {
    const wall = this.#clock.currentTimeMillisUnsafe()
    if (wall !== this.#wall) this.#read(wall)
    return Math.floor(this.#time)
  }

  /** By how many milliseconds the machine's clock is ahead of this one; less than 0 where it is behind. */
  get aheadMs(): number {
    return -this.now() + this.#wall
  }

  #read(wall: number): void {
    const monotonicMs = Number(this.#clock.monotonicTimeNanosUnsafe() - this.#monotonicZero) / 1e6
    const passedMs = Math.max(0, monotonicMs - this.#monotonicMs)
    this.#wall = wall
    this.#monotonicMs = monotonicMs
    const aheadMs = wall - (this.#time + passedMs)
    if (aheadMs > limits.clockStepMs) {
      if (!this.#stands(aheadMs)) {
        this.#time += passedMs
        return
      }
      this.#onStep({ kind: "believed", aheadMs })
    } else if (this.#refused !== undefined) {
      this.#onStep({ kind: "withdrawn", aheadMs: this.#refused.aheadMs })
    }
    this.#refused = undefined
    this.#follow(wall, passedMs)
  }

  /** Whether a jump has been there for long enough, and is one that may be believed. */
  #stands(aheadMs: number): boolean {
    const refused = this.#refused
    if (refused === undefined || Math.abs(aheadMs - refused.aheadMs) > limits.clockStepMs) {
      this.#refuse(aheadMs)
      return false
    }
    const stoodMs = this.#monotonicMs - refused.since
    return stoodMs >= limits.clockJumpStandsMs && aheadMs <= this.#jumpMsMax
  }

  #refuse(aheadMs: number): void {
    this.#refused = { aheadMs, since: this.#monotonicMs }
    this.#onStep({ kind: "refused", aheadMs, untilAllowed: aheadMs > this.#jumpMsMax })
  }

  #follow(wall: number, passedMs: number): void {
    this.#time = Math.max(wall, this.#time + passedMs * limits.clockSlewRate)
    const behindMs = this.#time - wall
    if (behindMs === 0) this.#behind = false
    if (this.#behind || behindMs < limits.clockBehindToldMs) return
    this.#behind = true
    this.#onStep({ kind: "behind", behindMs })
  }
}
