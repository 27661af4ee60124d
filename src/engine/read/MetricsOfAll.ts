/**
 * The metrics of all users together, by day, week and month, computed from the users' histories in
 * the background. `read` returns the latest result. If that begins too late or is old, `read` requests
 * a new one, which the environment's next pass computes. A pass looks at every user once, for
 * all metrics that were asked for, and sees each user as of the moment at which it reaches that
 * user: so a revoked event and an erased user are in no value. Nothing is stored: after a restart,
 * the next read asks again.
 *
 * Cost: a decode of each user's state, and a read of the records since the first day of each user
 * who has a value and a record since. One pass runs at a time, and passes use at most one part in
 * `metricPassShare` of the time. Memory: for each metric that was asked for, the windows of at most
 * `metricSeriesDaysMax` days, about 50 KiB; they are kept until the metric is archived or the server
 * stops. A pass holds the days of one user besides.
 */
import { Cause, Effect, Latch, Stream } from "effect"
import type { Metric } from "../../domain/project/Metric.ts"
import { timeIn } from "../../domain/project/Project.ts"
import { beforeDay, recountOf } from "../../domain/record/MetricRecount.ts"
import { decidedAt } from "../../domain/record/Record.ts"
import { MetricDays, MetricOfAll, type SharedValue } from "../../domain/user/MetricSeries.ts"
import type { UserState } from "../../domain/user/User.ts"
import type { WindowKind } from "../../domain/values/Calendar.ts"
import { limits } from "../../Limits.ts"
import { type Broken, isDamagedRecord } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Environment, Environments } from "../actor/Environments.ts"
import { prefixesEnd } from "../users/BucketTable.ts"
import type { UserHistory } from "./UserHistory.ts"

/** `windows`: by the index of the window. `null`: not made yet. `countedAt`: epoch milliseconds. */
export interface MetricSeries {
  readonly windows: ReadonlyMap<number, SharedValue> | null
  readonly countedAt: number | null
  readonly counting: boolean
}

export interface MetricSeriesQuery {
  readonly metricId: string
  readonly kind: WindowKind
  /** The first day of the series. */
  readonly from: number
}

interface Made {
  readonly from: number
  readonly series: MetricOfAll
  /** The environment's time. */
  readonly countedAt: number
  /** When it is old, in the server's time. */
  readonly oldAt: number
}

interface MetricsOfAllParts {
  readonly environments: Environments
  readonly history: UserHistory
  readonly now: () => number
}

export class MetricsOfAll {
  readonly #parts: MetricsOfAllParts
  /** By environment and id. */
  readonly #made = new Map<string, Map<string, Made>>()
  /** The first days of the series to make, by environment and id. */
  readonly #asked = new Map<string, Map<string, number>>()
  readonly #woken = Latch.makeUnsafe(false)

  constructor(parts: MetricsOfAllParts) {
    this.#parts = parts
  }

  /** The last series of a metric. Asks for a new one if it begins too late or is old. */
  read({ id, project }: Environment, { from, kind, metricId }: MetricSeriesQuery): MetricSeries {
    const last = this.#made.get(id)?.get(metricId)
    const known = last !== undefined && last.from <= from ? last : undefined
    const isFresh = known !== undefined && this.#parts.now() < known.oldAt
    if (project.durable.metrics.get(metricId)?.set === "published" && !isFresh) {
      this.#ask(id, metricId, Math.min(from, last?.from ?? from))
    }
    return {
      windows: known?.series.by(kind) ?? null,
      countedAt: known?.countedAt ?? null,
      counting: this.#asked.get(id)?.has(metricId) === true,
    }
  }

  #ask(environmentId: string, metricId: string, from: number): void {
    const asked = this.#asked.get(environmentId) ?? new Map<string, number>()
    this.#asked.set(environmentId, asked)
    asked.set(metricId, Math.min(from, asked.get(metricId) ?? from))
    this.#woken.openUnsafe()
  }

  /** Makes what reads ask for; never ends by itself. */
  readonly run: Effect.Effect<never, Broken> = Effect.gen({ self: this }, function* () {
    while (true) {
      yield* this.#woken.await
      // Reads of one turn share a pass, and none of them waits for it.
      yield* yieldToEventLoop
      this.#woken.closeUnsafe()
      for (const [id, asked] of this.#asked) {
        if (asked.size === 0) continue
        const metrics = new Map(asked)
        // A defect in one user's state or a damaged record must not end the process: it would do so
        // at each read.
        yield* this.#pass(this.#parts.environments.of(id), metrics).pipe(
          Effect.catchCause((cause) =>
            Cause.hasDies(cause) || isDamagedRecord(Cause.squash(cause))
              ? Effect.logError("The metrics of all users could not be computed", cause)
              : Effect.failCause(cause),
          ),
          Effect.ensuring(
            Effect.sync(() => {
              // What was asked with an earlier day meanwhile stays asked.
              for (const [metricId, from] of metrics) {
                if (asked.get(metricId) === from) asked.delete(metricId)
                else this.#woken.openUnsafe()
              }
            }),
          ),
        )
      }
    }
  })

  /** Makes the series of these metrics, and forgets those of archived ones. */
  readonly #pass = Effect.fnUntraced(function* (
    this: MetricsOfAll,
    environment: Environment,
    asked: ReadonlyMap<string, number>,
  ) {
    const began = performance.now()
    const from = Math.min(...asked.values())
    const all = [...asked.keys()]
      .map((id) => environment.project.durable.metrics.get(id))
      .filter((metric) => metric !== undefined)
      .map((metric) => ({ metric, series: new MetricOfAll(metric.aggregate) }))
    let turnEndsAt = performance.now() + limits.segmentCountTurnMs
    for (let prefix = 0; prefix < prefixesEnd; ) {
      const { next, users } = environment.usersFrom(prefix)
      prefix = next
      for (const user of users) {
        yield* this.#look(environment, user, from, all)
        if (performance.now() < turnEndsAt) continue
        yield* yieldToEventLoop
        turnEndsAt = performance.now() + limits.segmentCountTurnMs
      }
    }
    const { durable } = environment.project
    const countedAt = timeIn(durable, this.#parts.now())
    const tookMs = performance.now() - began
    const freshMs = Math.max(limits.metricSeriesFreshMs, tookMs * (limits.metricPassShare - 1))
    const oldAt = this.#parts.now() + freshMs
    const made = new Map(this.#made.get(environment.id))
    for (const { metric, series } of all) {
      made.set(metric.id, { from, series, countedAt, oldAt })
    }
    for (const id of made.keys()) {
      if (durable.metrics.get(id)?.set !== "published") made.delete(id)
    }
    this.#made.set(environment.id, made)
  })

  /** Adds a user's events since the day `from`. */
  readonly #look = Effect.fnUntraced(function* (
    this: MetricsOfAll,
    environment: Environment,
    user: UserState,
    from: number,
    all: ReadonlyArray<{ readonly metric: Metric; readonly series: MetricOfAll }>,
  ) {
    if (user.updatedAt < beforeDay(from)) return
    const counted = all.flatMap(({ metric, series }) =>
      user.metrics.has(metric.id)
        ? [
            {
              series,
              events: recountOf(user, environment.project.durable, metric.id),
              days: new MetricDays(metric.aggregate),
            },
          ]
        : [],
    )
    if (counted.length === 0) return
    yield* Stream.runForEachWhile(
      this.#parts.history.read(environment.id, user.id, user.sequence + 1),
      (records) =>
        Effect.sync(() => {
          for (const record of records) {
            if (decidedAt(record) < beforeDay(from)) return false
            for (const { days, events } of counted) {
              for (const event of events.eventsOf(record)) days.add(event)
            }
          }
          return true
        }),
    )
    // A user who was erased meanwhile is in no value.
    if (environment.durableOf(user.id)?.createdAt !== user.createdAt) return
    for (const { days, series } of counted) series.addUser(days)
  })
}
