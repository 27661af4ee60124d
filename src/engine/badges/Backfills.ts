/**
 * The runs that award badges to users who qualify already (`BackfillRun`), and those that count
 * metrics in the history of before their creation (`MetricBackfillRun`). They work in the
 * background, one at a time in each environment, in the order of the requests. The project's state
 * has the requests and their results. The next start repeats a run that a crash or a shutdown
 * interrupted; it skips users who have the badge or whose metric is counted, so no user gets either twice.
 *
 * A run that meets a defect or a damaged record is logged, and begins again after
 * `backfillCrashRetryMs`. The other runs of the environment go on meanwhile.
 */
import { Cause, Effect, FiberSet, Latch, Option } from "effect"
import type { ProjectCommand } from "../../domain/decide/Project.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { type Broken, isDamagedRecord } from "../../storage/Storage.ts"
import type { Environment, Environments } from "../actor/Environments.ts"
import { BackfillRun, type BackfillRunParts, type Ended, insist } from "./BackfillRun.ts"
import { type MetricBackfillParts, MetricBackfillRun } from "./MetricBackfillRun.ts"

/**
 * The progress of a run. `waiting`: another run of the environment comes first. Times are epoch
 * milliseconds.
 */
export interface BackfillProgress {
  readonly status: "waiting" | "running" | "finished"
  readonly notify: boolean
  readonly startedAt: number
  readonly finishedAt: number | null
  /** How many users were looked at, and how many there are. */
  readonly checked: number
  readonly total: number
  readonly awarded: number
}

/** A run under way. `work` looks at all users. */
interface Run extends Pick<BackfillRun, "definitionId" | "total" | "checked" | "awarded"> {
  readonly work: Effect.Effect<void, Broken | Ended>
}

interface BackfillsParts extends BackfillRunParts, MetricBackfillParts {
  readonly environments: Environments
  readonly askProject: (
    environment: string,
    command: ProjectCommand,
  ) => Effect.Effect<unknown, LaurelError>
}

export class Backfills {
  readonly #parts: BackfillsParts
  /** The environments that have a run under way. */
  readonly #runs = new Map<string, Run>()
  /** Those in which crashed runs wait for their next try. A new request opens the latch. */
  readonly #pauses = new Map<string, Latch.Latch>()
  #fork: ((work: Effect.Effect<void, Broken>) => void) | undefined

  constructor(parts: BackfillsParts) {
    this.#parts = parts
  }

  /** Resumes unfinished runs, then serves requests; never ends by itself. */
  readonly run: Effect.Effect<void, Broken> = Effect.scoped(
    Effect.gen({ self: this }, function* () {
      const fibers = yield* FiberSet.make<void, Broken>()
      const fork = yield* FiberSet.runtime(fibers)<never>()
      this.#fork = (work) => {
        fork(work)
      }
      for (const { id } of this.#parts.environments) this.#wake(id)
      yield* FiberSet.join(fibers)
    }),
  )

  /** A record became durable. */
  committed({ facts, subject }: JournalRecord): void {
    if (subject.actor === "project" && facts[0]?.kind === "backfill.started") {
      this.#wake(subject.environment)
    }
  }

  /** Begins the next run of an environment, if none is under way. */
  #wake(environmentId: string): void {
    this.#pauses.get(environmentId)?.openUnsafe()
    if (this.#fork === undefined || this.#runs.has(environmentId)) return
    const run = this.#nextOf(this.#parts.environments.of(environmentId))
    if (run === undefined) return
    this.#runs.set(environmentId, run)
    this.#fork(Effect.catchTag(this.#work(environmentId, run), "Ended", () => Effect.void))
  }

  /** The progress of the latest run for a badge or a metric; `undefined`: there was none. */
  progress(environmentId: string, definitionId: string): BackfillProgress | undefined {
    const { counts, project } = this.#parts.environments.of(environmentId)
    const state = project.durable.backfills.get(definitionId)
    if (state === undefined) return undefined
    const { awarded, checked, finishedAt, notify, startedAt } = state
    const times = { notify, startedAt, finishedAt }
    if (finishedAt !== null) {
      return { status: "finished", ...times, checked, total: checked, awarded }
    }
    const run = this.#runs.get(environmentId)
    return run?.definitionId === definitionId
      ? {
          status: "running",
          ...times,
          checked: run.checked,
          total: Math.max(run.total, run.checked),
          awarded: run.awarded,
        }
      : { status: "waiting", ...times, checked: 0, total: counts.users, awarded: 0 }
  }

  readonly #work = Effect.fnUntraced(function* (
    this: Backfills,
    environmentId: string,
    first: Run,
  ): Effect.fn.Return<void, Broken | Ended> {
    const environment = this.#parts.environments.of(environmentId)
    const crashed = new Set<string>()
    let run: Run | undefined = first
    while (run !== undefined) {
      const { definitionId } = run
      this.#runs.set(environmentId, run)
      yield* Effect.catchCause(this.#finish(environmentId, run), (cause) => {
        // These must not end the process: they would do so at each start.
        if (!Cause.hasDies(cause) && !isDamagedRecord(Cause.squash(cause))) {
          return Effect.failCause(cause)
        }
        crashed.add(definitionId)
        const of = { environment: environmentId, definition: definitionId }
        return Effect.logError("A backfill crashed; it is tried again", of, cause)
      })
      run = this.#nextOf(environment, crashed)
      while (run === undefined && crashed.size > 0) {
        const pause = Latch.makeUnsafe(false)
        this.#pauses.set(environmentId, pause)
        const isAsked = yield* Effect.timeoutOption(pause.await, limits.backfillCrashRetryMs)
        this.#pauses.delete(environmentId)
        if (Option.isNone(isAsked)) crashed.clear()
        run = this.#nextOf(environment, crashed)
      }
      // In the same turn as the look, so that a request that comes later begins its own run.
      if (run === undefined) this.#runs.delete(environmentId)
    }
  })

  /** Looks at all users, and records the result. */
  readonly #finish = Effect.fnUntraced(function* (
    this: Backfills,
    environmentId: string,
    run: Run,
  ): Effect.fn.Return<void, Broken | Ended> {
    yield* run.work
    const { awarded, checked, definitionId } = run
    const command = { kind: "finishBackfill", definitionId, checked, awarded } as const
    const refusal = yield* insist(this.#parts.askProject(environmentId, command))
    // `conflict`: the badge was archived, and the request is gone with it.
    if (refusal !== undefined && refusal.code !== "conflict") {
      return yield* Effect.die(refusal)
    }
  })

  /** The unfinished run that was asked for first, without those that have just crashed. */
  #nextOf(environment: Environment, crashed: ReadonlySet<string> = new Set()): Run | undefined {
    const open = [...environment.project.durable.backfills]
      .filter(([id, { finishedAt }]) => finishedAt === null && !crashed.has(id))
      .toSorted(([, one], [, other]) => one.startedAt - other.startedAt)
    const [next] = open
    if (next === undefined) return undefined
    const [id, { notify }] = next
    const metric = environment.project.durable.metrics.get(id)
    return metric === undefined
      ? new BackfillRun(this.#parts, environment, id, notify)
      : new MetricBackfillRun(this.#parts, environment, metric)
  }
}
