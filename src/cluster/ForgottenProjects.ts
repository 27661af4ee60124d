/**
 * Projects that the directory has lost because partition 1 was restored to an earlier time, while
 * other partitions still have their data. The new owner of partition 1 adds them again with their
 * former ids, archived and without keys. So no other project gets their data, and an operator can
 * unarchive them to reach it.
 *
 * PostgreSQL keeps the former directory until the adoption is durable. After a crash the adoption
 * is repeated, and adds no project twice.
 */
import { Effect, Result } from "effect"
import type { ErrorCode } from "../domain/values/Errors.ts"
import type { Engine } from "../engine/Engine.ts"
import { limits } from "../Limits.ts"
import type { Sessions } from "../storage/postgres/PgConnection.ts"
import { readReplaced, removeReplaced, stateOf } from "./DirectoryTable.ts"

export interface ForgottenProjectsOptions {
  readonly connection: Pick<Sessions, "run">
  /** The epoch of this runner's claim on partition 1. */
  readonly epoch: number
  readonly engine: Pick<Engine["Service"], "askDirectory">
}

/**
 * Ends when no project is missing. Retries while PostgreSQL does not answer or the engine is
 * overloaded.
 */
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

/** After these failures the same command succeeds later. */
const passing: ReadonlySet<ErrorCode> = new Set(["storage_unavailable", "overloaded", "starting"])

const words = {
  adopted:
    "Partition 1 was restored to a time before these projects were created; they are archived, without keys, and keep their data",
  failed: "Cannot read which projects of other partitions are missing in partition 1",
}
