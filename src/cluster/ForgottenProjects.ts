/**
 * Projects that the directory does not know any more, since partition 1 went back to before they were made, while other
 * partitions have their data. The new owner of partition 1 adds them again, archived, with the ids that they had: so their data
 * can be reached once an operator unarchives them, and belongs to no other project. Their keys are gone.
 *
 * The directory before is in PostgreSQL until that is durable; a crash repeats it, which adds nothing twice.
 */
import { Effect, Result } from "effect"
import type { ErrorCode } from "../domain/values/Errors.ts"
import type { Engine } from "../engine/Engine.ts"
import { limits } from "../Limits.ts"
import type { Sessions } from "../storage/postgres/PgConnection.ts"
import { readReplaced, removeReplaced, stateOf } from "./DirectoryTable.ts"

export interface ForgottenProjectsOptions {
  readonly connection: Pick<Sessions, "run">
  /** The claim of this runner on partition 1. */
  readonly epoch: number
  readonly engine: Pick<Engine["Service"], "askDirectory">
}

/** Ends when there are none; waits for PostgreSQL and for room in the engine. */
export const adoptForgotten = (options: ForgottenProjectsOptions): Effect.Effect<void> =>
  Effect.gen(function* () {
    while (true) {
      const adopted = yield* Effect.result(adopt(options))
      if (Result.isSuccess(adopted)) return
      const { failure } = adopted
      if (failure._tag === "LaurelError" && !passing.has(failure.code)) {
        return yield* Effect.annotateLogs(Effect.logWarning(words.failed), {
          cause: failure.detail,
        })
      }
      yield* Effect.sleep(limits.clusterRetryMs)
    }
  })

const adopt = ({ connection, engine, epoch }: ForgottenProjectsOptions) =>
  Effect.gen(function* () {
    const [row] = yield* connection.run(readReplaced)
    if (row === undefined) return
    const before = stateOf(row.state as Uint8Array)
    if (typeof before === "string") {
      return yield* Effect.annotateLogs(Effect.logWarning(words.failed), { cause: before })
    }
    const projects = [...before.projects.values()]
    const record = yield* engine.askDirectory({ kind: "adoptProjects", by: "operator", projects })
    const names = record.facts.flatMap((fact) =>
      fact.kind === "project.created" ? [fact.project.name] : [],
    )
    if (names.length > 0) {
      yield* Effect.annotateLogs(Effect.logWarning(words.adopted), { projects: names.join(", ") })
    }
    yield* connection.run(removeReplaced(epoch))
  })

/** The same command succeeds later. */
const passing: ReadonlySet<ErrorCode> = new Set(["storage_unavailable", "overloaded", "starting"])

const words = {
  adopted:
    "Partition 1 was restored to a time before these projects were created; they are archived, without keys, and keep their data",
  failed: "Cannot read which projects of other partitions are missing in partition 1",
}
