import { Effect } from "effect"
import { type LevelCurve, levelAt } from "../../domain/project/Level.ts"
import { invalidRequest } from "../../domain/values/Errors.ts"
import { isoTimeOrNull, parseIsoTime } from "../../domain/values/isoTime.ts"
import type { BoardEntry } from "../../engine/boards/ReadBoard.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { Leaderboard } from "../api/Leaderboard.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { pageInfo, pageOf } from "./Shapes.ts"

export const leaderboardHandlers = (engine: Engine["Service"]): Handlers<typeof Leaderboard> => ({
  get: {
    handle: ({ caller, query }) => {
      const { around, at, window: kind = "all_time" } = query
      if (around !== undefined && query.offset !== undefined) return Effect.fail(twoPlaces)
      const asked = pageOf(query)
      return Effect.zipWith(
        engine.readBoard(caller.environment, {
          ...asked,
          window: kind,
          ...(at !== undefined && { at: parseIsoTime(at) ?? at }),
          ...(around !== undefined && { around }),
        }),
        engine.readProject(caller.environment),
        ({ endsAt, me, offset, startsAt, total, ...board }, { settings: { levelCurve } }) => {
          const show = showEntry(levelCurve)
          const entries = board.entries.map(show)
          const window = { kind, startsAt: isoTimeOrNull(startsAt), endsAt: isoTimeOrNull(endsAt) }
          const page = pageInfo({ limit: asked.limit, offset }, total, entries.length)
          const body = { window, entries, ...page }
          return { body: me === undefined ? body : { ...body, me: me && show(me) } }
        },
      )
    },
  },
})

const showEntry =
  (curve: LevelCurve) =>
  ({ displayName, previousRank, rank, score, userId, xp }: BoardEntry) => ({
    rank,
    userId,
    displayName,
    xp: score,
    level: levelAt(curve, xp),
    previousRank,
  })

const twoPlaces = invalidRequest([
  {
    pointer: "query/offset",
    code: "invalid_value",
    detail: "must not be sent together with around",
  },
])
