/**
 * The runs that award badges to users who qualify already (`BackfillRun`), and those that count
 * metrics in the history of before their creation (`MetricBackfillRun`). They work in the
 * background, one at a time in each environment, in the order of the requests. The project's state
 * has the requests and their results. The next start repeats a run that a crash or a shutdown
 * interrupted; it skips users who have the badge or whose metric is counted, so no user gets either twice.
 */
import { Cause, Effect, FiberSet } from "effect"
import type { ProjectCommand } from "../../domain/decide/Project.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
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
    if (this.#fork === undefined || this.#runs.has(environmentId)) return
    const run = this.#nextOf(this.#parts.environments.of(environmentId))
    if (run === undefined) return
    this.#runs.set(environmentId, run)
    this.#fork(
      this.#work(environmentId, run).pipe(
        Effect.catchTag("Ended", () => Effect.void),
        // A defect in one user's state or a damaged record must not end the process: it would do so
        // at each start.
        Effect.catchCause((cause) =>
          Cause.hasDies(cause) || isDamagedRecord(Cause.squash(cause))
            ? Effect.logError("A backfill crashed; it restarts with the next start", cause)
            : Effect.failCause(cause),
        ),
      ),
    )
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
    let run: Run | undefined = first
    while (run !== undefined) {
      this.#runs.set(environmentId, run)
      yield* run.work
      const { awarded, checked, definitionId } = run
      const command = { kind: "finishBackfill", definitionId, checked, awarded } as const
      const refusal = yield* insist(this.#parts.askProject(environmentId, command))
      // `conflict`: the badge was archived, and the request is gone with it.
      if (refusal !== undefined && refusal.code !== "conflict") {
        return yield* Effect.die(refusal)
      }
      // In the same turn as `#nextOf`, so that a request that comes later begins its own run.
      this.#runs.delete(environmentId)
      run = this.#nextOf(this.#parts.environments.of(environmentId))
    }
  })

  /** The unfinished run that was asked for first. */
  #nextOf(environment: Environment): Run | undefined {
    const open = [...environment.project.durable.backfills]
      .filter(([, { finishedAt }]) => finishedAt === null)
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
