/** The few operations of the REST API that the demo needs, over the network as any client. */
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { type CommitEvent, commitAction, commitXp } from "./CommitEvent.ts"
import type { ThrowawayServer } from "./ThrowawayServer.ts"

export interface BatchCounts {
  readonly accepted: number
  readonly duplicates: number
}

export interface Standing {
  readonly rank: number
  readonly userId: string
  readonly xp: number
  readonly level: number
}

interface BatchReply extends BatchCounts {
  readonly rejected: number
  readonly results: ReadonlyArray<{ readonly detail?: string; readonly errors?: unknown }>
}

export interface Client {
  readonly createRule: Effect.Effect<void, CommandFailed>
  readonly sendBatch: (
    events: ReadonlyArray<CommitEvent>,
  ) => Effect.Effect<BatchCounts, CommandFailed>
  /** The whole board, first rank first. */
  readonly readStandings: Effect.Effect<ReadonlyArray<Standing>, CommandFailed>
}

export const makeClient = ({ key, url }: ThrowawayServer): Client => {
  const request = <Reply>(
    method: string,
    path: string,
    body?: unknown,
  ): Effect.Effect<Reply, CommandFailed> =>
    Effect.tryPromise({
      try: async (signal) => {
        const response = await fetch(url + path, {
          method,
          signal,
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        })
        if (!response.ok) throw new Error(`status ${response.status}: ${await response.text()}`)
        return (await response.json()) as Reply
      },
      catch: (error) =>
        commandFailed(exitCodes.unavailable, `${method} ${path} failed: ${messageOf(error)}`),
    })

  return {
    createRule: Effect.asVoid(
      request("POST", "/v1/rules", { action: commitAction, reward: { xp: commitXp } }),
    ),
    sendBatch: (events) =>
      Effect.flatMap(request<BatchReply>("POST", "/v1/events/batch", { events }), (reply) => {
        if (reply.rejected === 0) return Effect.succeed(reply)
        const refused = reply.results.findIndex(({ detail }) => detail !== undefined)
        return Effect.fail(
          commandFailed(
            exitCodes.refused,
            `${reply.rejected} of ${events.length} events were refused, ` +
              `the first for commit ${events[refused]?.id}: ${JSON.stringify(reply.results[refused])}`,
          ),
        )
      }),
    readStandings: Effect.gen(function* () {
      const standings: Array<Standing> = []
      let hasMore = true
      while (hasMore) {
        const page = yield* request<{
          readonly entries: ReadonlyArray<Standing>
          readonly hasMore: boolean
        }>("GET", `/v1/leaderboard?limit=${limits.pageMax}&offset=${standings.length}`)
        standings.push(...page.entries)
        hasMore = page.hasMore
      }
      return standings
    }),
  }
}

const messageOf = (error: unknown): string =>
  error instanceof Error && error.cause instanceof Error
    ? `${error.message} (${error.cause.message})`
    : String(error)
