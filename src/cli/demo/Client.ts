/** The few operations that the demo needs, with the client that apps use. */
import { Effect } from "effect"
import { type BatchSummary, createLaurel, type LeaderboardEntry } from "../../client/index.ts"
import { limits } from "../../Limits.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { type CommitEvent, commitAction, commitXp } from "./CommitEvent.ts"
import type { ThrowawayServer } from "./ThrowawayServer.ts"

export type BatchCounts = Pick<BatchSummary, "accepted" | "duplicates">

export type Standing = Pick<LeaderboardEntry, "rank" | "userId" | "xp" | "level">

export interface Client {
  readonly createRule: Effect.Effect<void, CommandFailed>
  readonly sendBatch: (
    events: ReadonlyArray<CommitEvent>,
  ) => Effect.Effect<BatchCounts, CommandFailed>
  /** The whole board, first rank first. */
  readonly readStandings: Effect.Effect<ReadonlyArray<Standing>, CommandFailed>
}

const minimal = { prefer: "return=minimal" }

export const makeClient = ({ key, url }: ThrowawayServer): Client => {
  const laurel = createLaurel({ url, key })
  const ask = <Reply>(doing: string, call: (signal: AbortSignal) => Promise<Reply>) =>
    Effect.tryPromise({
      try: call,
      catch: (error) => commandFailed(exitCodes.unavailable, `${doing} failed: ${error}`),
    })

  return {
    createRule: Effect.asVoid(
      ask("Creating a rule", (signal) =>
        laurel.rules.create({ action: commitAction, reward: { xp: commitXp } }, { signal }),
      ),
    ),
    sendBatch: (events) =>
      Effect.gen(function* () {
        const summary = (yield* ask("Sending commits", (signal) =>
          laurel.events.trackBatch({ events }, { signal, headers: minimal }),
        )) as BatchSummary
        const [first] = summary.refusals
        if (first === undefined) return summary
        return yield* commandFailed(
          exitCodes.refused,
          `${summary.rejected} of ${events.length} events were refused, ` +
            `the first for commit ${events[first.index]?.id}: ${JSON.stringify(first)}`,
        )
      }),
    readStandings: Effect.gen(function* () {
      const standings: Array<Standing> = []
      let hasMore = true
      while (hasMore) {
        const query = { limit: limits.pageMax, offset: standings.length }
        const page = yield* ask("Reading the leaderboard", (signal) =>
          laurel.leaderboard.get(query, { signal }),
        )
        standings.push(...page.entries)
        hasMore = page.hasMore
      }
      return standings
    }),
  }
}
