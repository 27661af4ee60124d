import { World } from "./decide/World.ts"

const dayMs = 86_400_000

/** A user who was promoted, stayed and was demoted in a league with windows of a day. */
export const played = (): World => {
  const world = new World()
  const league = world.league()
  for (const rank of [1, null, 3]) {
    world.grant(1)
    const today = Math.floor(world.now / dayMs)
    world.now += dayMs
    world.closeLeague(league, today)
    world.ranked = { rank, of: rank ?? 0 }
    world.do({ kind: "tick" })
  }
  return world
}
