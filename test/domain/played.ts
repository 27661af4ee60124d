import { World } from "./decide/World.ts"

const dayMs = 86_400_000

/**
 * A user who completed a shared goal, was promoted, stayed and was demoted in a league with windows of a day, and was reminded of
 * their ends.
 */
export const played = (): World => {
  const world = new World()
  const { id: goalId, key, name } = world.goal({ target: 20 })
  world.undo(world.grant(10))
  world.grant(20)
  const goal = { goalId, key, name, period: 0 }
  const rewards = [{ xp: 0, points: 5, badgeId: null }]
  const paid = { payout: "gol_1 0 0", to: "u1", goal, rewards, madeAt: world.now }
  world.do({ kind: "payment", ...paid })
  const league = world.league()
  world.settings({ reminders: { hour: 18, inactiveDays: [], unless: null, leagueDays: 1 } })
  for (const rank of [1, null, 3]) {
    world.grant(1)
    const today = Math.floor(world.now / dayMs)
    world.now = today * dayMs + 18 * 3_600_000
    world.do({ kind: "tick" })
    world.now += dayMs
    world.closeLeague(league, today)
    world.ranked = { rank, of: rank ?? 0 }
    world.do({ kind: "tick" })
  }
  world.do({ kind: "disqualifyInLeague", league: league.key, disqualified: true })
  const { id: boardId } = world.board({ announceRanks: 3 })
  const ranks = { rank: 2, previousRank: null, score: 7 }
  const change = { boardId, window: "all_time", index: 0, ...ranks, to: "u1" } as const
  world.do({ kind: "ranks", change })
  return world
}
