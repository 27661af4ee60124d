/**
 * One run that counts a metric in the events of before the metric was created. It looks at all users
 * who existed then, bucket by bucket; whoever came later has every event counted already.
 *
 * A user whose history has such events gets one command, which replaces the user's state of the
 * metric (`MetricRecounts`). The state says up to which record the history is counted, so a run that
 * a crash interrupted skips the user, and an undo of an old event takes it back. A merge during a run
 * has the united history recounted (`domain/record/United.ts`), so a run need not look again at the
 * user who stays.
 *
 * Cost: a decode of each user's state, and a read of the history of each user who existed before the
 * metric. A run yields to the event loop after every `backfillTurnUsersMax` users.
 */
import { Effect } from "effect"
import type { Metric } from "../../domain/project/Metric.ts"
import type { UserState } from "../../domain/user/User.ts"
import { limits } from "../../Limits.ts"
import type { Broken } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Environment } from "../actor/Environments.ts"
import { prefixesEnd } from "../users/BucketTable.ts"
import { type Ended, turnsOf } from "./BackfillRun.ts"
import type { MetricRecounts } from "./MetricRecounts.ts"

export interface MetricBackfillParts {
  readonly recounts: MetricRecounts
}

export class MetricBackfillRun {
  /** The metric. */
  readonly definitionId: string
  /** How many users there were when the run began, and how many were looked at. */
  readonly total: number
  checked = 0
  /** The users whose metric changed. */
  awarded = 0
  readonly #recounts: MetricRecounts
  readonly #environment: Environment
  readonly #metric: Metric

  constructor({ recounts }: MetricBackfillParts, environment: Environment, metric: Metric) {
    this.#recounts = recounts
    this.#environment = environment
    this.#metric = metric
    this.definitionId = metric.id
    this.total = environment.counts.users
  }

  /** Looks at all users; looks at no more once the metric is archived. */
  readonly work: Effect.Effect<void, Broken | Ended> = Effect.gen({ self: this }, function* () {
    for (let prefix = 0; prefix < prefixesEnd; ) {
      const { next, users } = this.#environment.usersFrom(prefix)
      prefix = next
      for (const states of turnsOf(users)) {
        if (this.#environment.project.durable.metrics.get(this.definitionId)?.set !== "published") {
          return
        }
        const concurrency = limits.backfillUsersConcurrentMax
        yield* Effect.forEach(states, (user) => this.#count(user), { concurrency, discard: true })
        this.checked += states.length
        yield* yieldToEventLoop
      }
    }
  })

  readonly #count = Effect.fnUntraced(function* (
    this: MetricBackfillRun,
    user: UserState,
  ): Effect.fn.Return<void, Broken | Ended> {
    // Every event was counted when it came; a user who was merged into the user may have older ones.
    if (user.absorbed.length === 0 && user.createdAt > this.#metric.createdAt) return
    if (yield* this.#recounts.backfill(this.#environment, user, this.definitionId)) this.awarded++
  })
}
