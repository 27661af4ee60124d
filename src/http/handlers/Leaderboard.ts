import { Effect } from "effect"
import { levelAt } from "../../domain/Level.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { Leaderboard } from "../api/Leaderboard.ts"
import type { Handlers } from "../Interpreter.ts"
import { pageInfo, pageOf } from "./Shapes.ts"

const allTime = { kind: "all_time", startsAt: null, endsAt: null } as const

export const leaderboardHandlers = (engine: Engine["Service"]): Handlers<typeof Leaderboard> => ({
  get: {
    handle: ({ caller, query }) => {
      const page = pageOf(query)
      return Effect.zipWith(
        engine.readBoard(caller.environment, page),
        engine.readProject(caller.environment),
        (board, { levelCurve }) => {
          const entries = board.entries.map(({ rank, score, userId }) => ({
            rank,
            userId,
            displayName: null,
            xp: score,
            level: levelAt(levelCurve, score),
            previousRank: null,
          }))
          const info = pageInfo(page, board.total, entries.length)
          return { body: { window: allTime, entries, ...info } }
        },
      )
    },
  },
})
