/**
 * The results of experiments, computed in the background from the states of all users
 * (`ExperimentTally.ts`). A read gets the last result, and asks for a new one if that is old or the
 * experiment was edited since. If a result took at most `activityWaitMs`, the read waits for the new
 * one, and so does the first read, as long as reads of `CountOfAll` do. A pass sees each user as of the moment at which it reaches that
 * user, so undone events and erased users are in no number. Nothing is stored.
 *
 * Cost: a decode of each user's state, once for all questions of an environment that were asked by
 * then. A pass yields to the event loop after `segmentCountTurnMs`. A result is as old as
 * `segmentCountFreshMs` before it is made again. `experimentResultsKept` are kept per environment.
 */
import { Cause, Deferred, Effect, Latch } from "effect"
import type { Experiment } from "../../domain/project/Experiment.ts"
import { timeIn } from "../../domain/project/Project.ts"
import { ExperimentTally, type Measure } from "../../domain/user/ExperimentTally.ts"
import { limits } from "../../Limits.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Environment, Environments } from "../actor/Environments.ts"
import { prefixesEnd } from "../users/BucketTable.ts"
import { type Counted, notCounted, type Wait, waitFor } from "./CountOfAll.ts"

interface Made {
  readonly tally: ExperimentTally
  readonly countedAt: number
  readonly tookMs: number
  /** When it was made, in the server's time. */
  readonly madeAt: number
}

/** The questions of an environment that the next pass answers, and what ends with it. */
interface Asked {
  readonly questions: Map<string, ExperimentTally>
  readonly done: Deferred.Deferred<void>
}

interface ExperimentCountsParts {
  readonly environments: Environments
  readonly now: () => number
}

export class ExperimentCounts {
  readonly #parts: ExperimentCountsParts
  /** By environment and question; the latest last. */
  readonly #counted = new Map<string, Map<string, Made>>()
  readonly #asked = new Map<string, Asked>()
  #running: { readonly id: string; readonly asked: Asked } | undefined
  readonly #woken = Latch.makeUnsafe(false)

  constructor(parts: ExperimentCountsParts) {
    this.#parts = parts
  }

  read(
    { id }: Environment,
    experiment: Experiment,
    measure: Measure,
    wait: Wait = "briefly",
  ): Effect.Effect<Counted<ExperimentTally>> {
    return Effect.suspend(() => {
      const name = nameOf(experiment, measure)
      const last = this.#lastOf(id, name, experiment)
      if (last === undefined || last.tookMs <= limits.activityWaitMs) {
        const done = this.#ask(id, name, new ExperimentTally(experiment, measure))
        return Effect.map(waitFor(done, wait), () => this.#shown(id, name))
      }
      if (!this.#isFresh(last) && !this.#isRunning(id, name)) {
        this.#ask(id, name, new ExperimentTally(experiment, measure))
      }
      return Effect.succeed(this.#shown(id, name))
    })
  }

  /**
   * The last result, for lists: any that is at most `segmentCountFreshMs` old. Otherwise it asks for a new
   * one; only the first one is waited for, for `experimentListWaitMs` at most.
   */
  readLast(
    { id }: Environment,
    experiment: Experiment,
    measure: Measure,
  ): Effect.Effect<Counted<ExperimentTally>> {
    return Effect.suspend(() => {
      const name = nameOf(experiment, measure)
      const last = this.#lastOf(id, name, experiment)
      if (last !== undefined && (this.#isFresh(last) || this.#isRunning(id, name))) {
        return Effect.succeed(this.#shown(id, name))
      }
      const done = this.#ask(id, name, new ExperimentTally(experiment, measure))
      if (last !== undefined) return Effect.succeed(this.#shown(id, name))
      const waiting = Effect.timeoutOption(Deferred.await(done), limits.experimentListWaitMs)
      return Effect.map(waiting, () =>
        this.#counted.get(id)?.has(name) === true ? this.#shown(id, name) : notCounted,
      )
    })
  }

  /** The last result, unless the experiment was edited since: an edit makes a new object. */
  #lastOf(id: string, name: string, experiment: Experiment): Made | undefined {
    const last = this.#counted.get(id)?.get(name)
    return last?.tally.experiment === experiment ? last : undefined
  }

  #isFresh({ madeAt }: Made): boolean {
    return this.#parts.now() < madeAt + limits.segmentCountFreshMs
  }

  #isRunning(id: string, name: string): boolean {
    return this.#running?.id === id && this.#running.asked.questions.has(name)
  }

  #shown(id: string, name: string): Counted<ExperimentTally> {
    const counting = this.#isRunning(id, name) || this.#asked.get(id)?.questions.has(name) === true
    const last = this.#counted.get(id)?.get(name)
    if (last === undefined && counting) return notCounted
    if (last === undefined) throw new Error("The results of an experiment could not be computed")
    const { countedAt, tally } = last
    return { result: tally, countedAt, counting }
  }

  #ask(id: string, name: string, tally: ExperimentTally): Deferred.Deferred<void> {
    const asked = this.#asked.get(id) ?? {
      questions: new Map(),
      done: Deferred.makeUnsafe<void>(),
    }
    this.#asked.set(id, asked)
    asked.questions.set(name, tally)
    this.#woken.openUnsafe()
    return asked.done
  }

  /** Answers what reads ask for; never ends by itself. */
  readonly run: Effect.Effect<never> = Effect.gen({ self: this }, function* () {
    while (true) {
      yield* this.#woken.await
      // Reads of one turn share a pass.
      yield* yieldToEventLoop
      this.#woken.closeUnsafe()
      for (const [id, asked] of [...this.#asked]) {
        // Reads that come during a pass ask for the next one: they may follow a write.
        this.#asked.delete(id)
        this.#running = { id, asked }
        // A defect in one user's state must not end the process: it would do so at each read.
        yield* Effect.catchCause(this.#pass(id, asked.questions), (cause) =>
          Cause.hasDies(cause)
            ? Effect.logError("The results of an experiment could not be computed", cause)
            : Effect.failCause(cause),
        )
        this.#running = undefined
        Deferred.doneUnsafe(asked.done, Effect.void)
      }
    }
  })

  readonly #pass = Effect.fnUntraced(function* (
    this: ExperimentCounts,
    id: string,
    questions: Asked["questions"],
  ) {
    const environment = this.#parts.environments.of(id)
    const { project } = environment
    const began = performance.now()
    let turnEndsAt = began + limits.segmentCountTurnMs
    for (let prefix = 0; prefix < prefixesEnd; ) {
      const { next, users } = environment.usersFrom(prefix)
      prefix = next
      for (const user of users) {
        if (user.experiments.size > 0) {
          const now = timeIn(project.durable, this.#parts.now())
          for (const tally of questions.values()) tally.add(user, project.durable, now)
        }
        if (performance.now() < turnEndsAt) continue
        yield* yieldToEventLoop
        turnEndsAt = performance.now() + limits.segmentCountTurnMs
      }
    }
    const tookMs = performance.now() - began
    const countedAt = timeIn(project.durable, this.#parts.now())
    const madeAt = this.#parts.now()
    const counted = this.#counted.get(id) ?? new Map<string, Made>()
    this.#counted.set(id, counted)
    for (const [name, tally] of questions) {
      counted.delete(name)
      counted.set(name, { tally, countedAt, tookMs, madeAt })
    }
    for (const name of counted.keys()) {
      if (counted.size <= limits.experimentResultsKept) break
      if (!questions.has(name)) counted.delete(name)
    }
  })
}

/** The name of a question. */
const nameOf = ({ id }: Experiment, measure: Measure): string =>
  "metric" in measure
    ? `${id} metric ${measure.metric.id} ${measure.atLeast ?? ""}`
    : `${id} retention ${measure.retentionDays}`
