/** The background work of an engine that writes records: due users and windows, backfills. `Upkeep.ts` is the rest. */
import { Effect, type Scope } from "effect"
import type { Backfill } from "../domain/record/Record.ts"
import { limits } from "../Limits.ts"
import type { Environment } from "./actor/Environments.ts"
import { toReply } from "./actor/Requests.ts"
import { readColdUser } from "./actor/readColdUser.ts"
import { Backfills } from "./badges/Backfills.ts"
import type { EngineOptions } from "./EngineOptions.ts"
import { endsWhenBroken } from "./endsWhenBroken.ts"
import type { EngineState } from "./state/EngineState.ts"
import { Ticker } from "./time/Ticker.ts"
import { WindowClock } from "./time/WindowClock.ts"
import type { Upkeep } from "./Upkeep.ts"
import type { Writes } from "./Writes.ts"

export interface Background {
  readonly backfills: Backfills
}

/** Forks all of it into the surrounding scope. */
export const startBackground = Effect.fnUntraced(function* (
  state: EngineState,
  { batches, commit, feed, history, pipeline, requests }: Writes,
  upkeep: Upkeep,
  options: EngineOptions,
): Effect.fn.Return<Background, never, Scope.Scope> {
  const { directory, environments, storage } = state
  const clockCheckMs = options.clockCheckMs ?? limits.clockCheckMs
  upkeep.serve({
    written: commit.written,
    held: feed.held,
    heartbeat: (over) => requests.tell(directory, { kind: "heartbeat" }, over),
    changed: () => batches.changed(),
  })
  const windowClock = new WindowClock({
    ...state,
    clockCheckMs,
    afterCommit: commit.afterCommit,
    close: ({ project }: Environment, command, over) => requests.tell(project, command, over),
  })
  const ticker = new Ticker({
    ...state,
    clockCheckMs,
    peek: ({ id, users }: Environment, userId) => {
      const actor = users.get(userId)
      return actor?.loaded ? Effect.succeed(actor.state) : readColdUser(storage, id, userId)
    },
    askUsers: ({ id }, messages) => requests.many(id, messages),
  })
  const backfills = new Backfills({
    storage,
    history,
    environments,
    askUser: (environment, { command, userId }, prepare) =>
      Effect.map(
        requests.one(requests.toUser(environment, userId), command, undefined, prepare),
        toReply<Backfill>,
      ),
    askProject: (environment, command) =>
      requests.one(requests.to(environments.of(environment).project), command),
  })
  pipeline.on("windows", ({ record }) => windowClock.committed(record))
  pipeline.on("backfills", ({ record }) => backfills.committed(record))

  for (const work of [windowClock.run, ticker.run, backfills.run]) {
    yield* Effect.forkScoped(endsWhenBroken(options.onBroken, work))
  }
  return { backfills }
})
