/**
 * The clock of an engine: it dates records, and decides when windows end and kept data expires. The
 * machine's clock may be set, may be wrong, and is often wrong for a moment after a boot. Records
 * must be in the order of their times, since they are searched by time, and a wrong date cannot be
 * corrected later.
 *
 * - Time begins at that of the newest record, or at the machine's clock if that is later.
 * - Time never goes back. If the machine's clock is behind, time runs at `clockSlewRate` of its
 *   usual speed until that clock has caught up: 10 hours for each hour.
 * - If the machine's clock jumps ahead of the monotonic clock by more than `clockStepMs`, time
 *   follows the monotonic clock. It follows the machine's clock again once the jump has lasted for
 *   `clockJumpWaitMs`, since a suspended machine makes such a jump. A jump of more than
 *   `jumpMsMax`, also at the start, is ignored until the operator allows it
 *   (`LAUREL_CLOCK_JUMP_MAX`).
 *
 * Cost: one reading of the machine's clock, and of the monotonic clock at most once in a
 * millisecond.
 */
import { Clock, Effect, type Latch, Option, Stream } from "effect"
import { limits } from "../../Limits.ts"
import type { Broken, Storage, StoredRecord } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { EngineMetrics } from "../metrics/EngineMetrics.ts"
import { decodeRecord } from "../records/Codec.ts"

/** A step of the machine's clock, in milliseconds relative to the engine's clock. */
export type ClockStep =
  /** It jumped ahead and is ignored, for now or until the operator allows the jump. */
  | { readonly kind: "refused"; readonly aheadMs: number; readonly untilAllowed: boolean }
  /** The refused jump has lasted, and is followed now. */
  | { readonly kind: "believed"; readonly aheadMs: number }
  /** The refused jump is over. */
  | { readonly kind: "withdrawn"; readonly aheadMs: number }
  /** The machine's clock is behind the engine's. */
  | { readonly kind: "behind"; readonly behindMs: number }

interface EngineClockOptions {
  readonly clock: Clock.Clock
  /** The time of the newest record, epoch milliseconds; `undefined`: there is none. */
  readonly latest: number | undefined
  readonly jumpMsMax: number
  readonly onStep: (step: ClockStep) => void
}

/**
 * By how many milliseconds `wall` is ahead of the newest record, if that is more than `jumpMsMax`;
 * else 0.
 */
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

  /** By how many milliseconds the machine's clock is ahead of this one; negative: it is behind. */
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

  /** Whether a jump has lasted long enough and is small enough to be followed. */
  #stands(aheadMs: number): boolean {
    const refused = this.#refused
    if (refused === undefined || Math.abs(aheadMs - refused.aheadMs) > limits.clockStepMs) {
      this.#refuse(aheadMs)
      return false
    }
    const stoodMs = this.#monotonicMs - refused.since
    return stoodMs >= limits.clockJumpWaitMs && aheadMs <= this.#jumpMsMax
  }

  #refuse(aheadMs: number): void {
    this.#refused = { aheadMs, since: this.#monotonicMs }
    this.#onStep({ kind: "refused", aheadMs, untilAllowed: aheadMs > this.#jumpMsMax })
  }

  #follow(wall: number, passedMs: number): void {
    this.#time = Math.max(wall, this.#time + passedMs * limits.clockSlewRate)
    const behindMs = this.#time - wall
    if (behindMs === 0) this.#behind = false
    if (this.#behind || behindMs < limits.clockBehindLoggedMs) return
    this.#behind = true
    this.#onStep({ kind: "behind", behindMs })
  }
}

/**
 * Makes the clock of an engine. It begins at `latest`, the newest time of the data. Logs and counts
 * its steps.
 */
export const openClock = Effect.fnUntraced(function* (
  latest: number | undefined,
  jumpMsMax: number,
  metrics: EngineMetrics,
): Effect.fn.Return<EngineClock> {
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const clock = new EngineClock({
    clock: yield* Clock.Clock,
    latest,
    jumpMsMax,
    onStep: (step) => {
      if (step.kind === "refused") metrics.clockJumpRefused()
      run(logStep(step))
    },
  })
  metrics.observeClock(clock)
  return clock
})

const logStep = (step: ClockStep): Effect.Effect<void> => {
  switch (step.kind) {
    case "refused":
      return Effect.annotateLogs(Effect.logError(step.untilAllowed ? tooFar : jumped), {
        aheadSeconds: seconds(step.aheadMs),
      })
    case "believed":
      return Effect.annotateLogs(
        Effect.logWarning("The machine's clock kept its jump ahead and is followed again"),
        { aheadSeconds: seconds(step.aheadMs) },
      )
    case "withdrawn":
      return Effect.annotateLogs(
        Effect.logWarning("The machine's clock is back from its jump ahead, which was ignored"),
        { aheadSeconds: seconds(step.aheadMs) },
      )
    case "behind":
      return Effect.annotateLogs(
        Effect.logWarning(
          "The machine's clock is behind the newest time of the data. The server's time runs a tenth slower until the clock has caught up",
        ),
        { behindSeconds: seconds(step.behindMs) },
      )
  }
}

const jumped =
  "The machine's clock jumped ahead. It is ignored until the jump has lasted for a minute"
const tooFar =
  "The machine's clock jumped ahead further than LAUREL_CLOCK_JUMP_MAX and is ignored. If the clock is right, start once with a larger value"

const seconds = (ms: number): number => Math.round(ms / 1_000)

/**
 * The newest time of the data, epoch milliseconds: that of the last record, or `markedAt`, the time
 * of the snapshot (0: none), if that is later. `undefined`: the data has no time. A snapshot dated
 * more than `jumpMsMax` after the last record is ignored: its clock was wrong.
 */
export const readLatestTime = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  markedAt: number,
  jumpMsMax: number,
): Effect.fn.Return<number | undefined, Broken> {
  const { lastSequence } = storage
  if ((yield* storage.firstSequence) > lastSequence) return markedAt > 0 ? markedAt : undefined
  const last = (yield* Stream.runCollect(storage.readRecords(lastSequence))).flat().at(-1)
  if (last === undefined) return undefined
  const whole = last.body.length > 0 ? last : yield* wholeBefore(storage, lastSequence)
  if (whole === undefined) return markedAt > 0 ? markedAt : undefined
  const { at } = decodeRecord(whole.body)
  return markedAt - at > jumpMsMax ? at : Math.max(at, markedAt)
})

/** The latest record before `sequence` that was not erased, among the last `erasedMax`. */
const wholeBefore = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  sequence: number,
): Effect.fn.Return<StoredRecord | undefined, Broken> {
  const first = Math.max(yield* storage.firstSequence, sequence - erasedMax)
  for (let before = sequence - 1; before >= first; before--) {
    const record = yield* storage.readRecord(before)
    if (record !== undefined && record.body.length > 0) return record
  }
  return undefined
})

const erasedMax = 1_000

/**
 * The time of the first record from `sequence` on that was not erased, epoch milliseconds;
 * `undefined`: there is no such record.
 */
export const timeFrom = (
  storage: Storage["Service"],
  sequence: number,
): Effect.Effect<number | undefined, Broken> =>
  storage.readRecords(sequence).pipe(
    Stream.map((records) => records.find(({ body }) => body.length > 0)),
    Stream.filter((record) => record !== undefined),
    Stream.runHead,
    Effect.map((found) => (Option.isSome(found) ? decodeRecord(found.value.body).at : undefined)),
  )

/** The time of a state: that of the newest record, until the engine serves and follows a clock. */
export class EngineTime {
  /** The newest time of the data, epoch milliseconds; `undefined`: it has none. */
  latest: number | undefined
  #clock: (() => number) | undefined

  constructor(latest: number | undefined) {
    this.latest = latest
  }

  /** Epoch milliseconds. */
  readonly now = (): number => (this.#clock === undefined ? (this.latest ?? 0) : this.#clock())

  /** A record of this time was folded. */
  reached(at: number): void {
    if (this.latest === undefined || at > this.latest) this.latest = at
  }

  follow(clock: { readonly now: () => number }): void {
    this.#clock = clock.now
  }
}

/**
 * Ends after `ms` or when the latch opens, and closes the latch. If the latch opened before, it
 * does not sleep.
 *
 * What follows an opened latch runs in a turn of its own. `openUnsafe` resumes a waiting fiber
 * inside the call, and the latch may be opened in the middle of a change: while an actor is
 * evicted, a tick would otherwise reach that actor and be lost with it.
 */
export const sleepUnlessOpened = (latch: Latch.Latch, ms: number): Effect.Effect<unknown> =>
  Effect.andThen(
    Effect.race(Effect.sleep(ms), Effect.andThen(latch.await, yieldToEventLoop)),
    latch.close,
  )
