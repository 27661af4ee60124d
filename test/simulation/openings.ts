/** Random opening balances, of which few have a fault. */
import type { Amounts } from "../../src/domain/project/Currency.ts"
import { awardsOf } from "../../src/domain/project/Definition.ts"
import type { Opening, OpeningBadge, OpeningStreak } from "../../src/domain/record/Opening.ts"
import { dateOf } from "../../src/domain/values/Calendar.ts"
import type { Surroundings } from "./commands.ts"

const day = 86_400_000

/** Whether nothing has happened to the user that closes the opening. */
export const isNew = ({ model }: Surroundings, userId: string): boolean =>
  model.log(userId).every(({ kind }) => kind === "profile" || kind === "began")

export const randomOpening = (run: Surroundings, userId: string): Opening => {
  const { model, random } = run
  const first = model.log(userId).find((entry) => entry.kind === "opened")
  if (first !== undefined && random.chance(0.5)) {
    return JSON.parse(JSON.stringify(first.command))
  }
  const balances = amounts(run)
  const earned = Object.fromEntries(
    Object.entries(balances)
      .filter(([key]) => random.chance(key === "xp" ? 0.05 : 0.4))
      .map(([key, amount]) => [key, amount + random.pick([0, 1, 30, random.chance(0.1) ? -1 : 5])])
      .filter(([, total]) => Number(total) >= 0),
  )
  return {
    kind: "opening",
    ...(random.chance(0.9) && { balances }),
    ...(random.chance(0.6) && { earned }),
    ...(random.chance(0.6) && { expiring: lots(run, balances) }),
    ...(random.chance(0.8) && { streaks: streaks(run) }),
    ...(random.chance(0.7) && { badges: badges(run) }),
  }
}

const amounts = ({ project, random }: Surroundings): Amounts =>
  Object.fromEntries(
    [...project.currencies.values()]
      .filter(({ set }) => set === "published" || random.chance(0.05))
      .filter(() => random.chance(0.8))
      .map(({ key }) => [key, random.pick([0, 3, 17, 60])]),
  )

const dateIn = ({ now }: Surroundings, days: number): string => dateOf(Math.floor(now / day) + days)

/** A day more than the user's own may have to go by, in the zone farthest from UTC. */
const lots = (run: Surroundings, balances: Amounts): Opening["expiring"] => {
  const { project, random } = run
  const ending = [...project.currencies.values()].filter(
    ({ expiry, key }) => (expiry !== null && (balances[key] ?? 0) > 2) || random.chance(0.02),
  )
  return Object.fromEntries(
    ending.map(({ key }) => [
      key,
      Array.from({ length: random.integer(1, 2) }, () => ({
        amount: random.pick([1, 1, random.chance(0.1) ? 70 : 1]),
        lastDay: dateIn(run, random.pick([1, 2, 2, 3, 30, random.chance(0.1) ? -3 : 1])),
      })),
    ]),
  )
}

const streaks = (run: Surroundings): { readonly [key: string]: OpeningStreak } => {
  const { project, random } = run
  const chosen = [...project.streaks.values()].filter(
    ({ set }) =>
      (set === "published" || set === "paused" || random.chance(0.05)) && random.chance(0.7),
  )
  return Object.fromEntries(
    chosen.map(({ key }) => {
      const current = random.pick([0, 1, 2, 4, 30])
      const best = current + random.pick([0, 0, 3, random.chance(0.05) ? -1 : 1])
      const lastDay = dateIn(run, random.pick([-1, -1, -2, -3, -9, random.chance(0.1) ? 40 : -1]))
      const isDated = current > 0 ? random.chance(0.97) : random.chance(0.3)
      return [key, { current, best: Math.max(0, best), ...(isDated && { lastDay }) }] as const
    }),
  )
}

const badges = ({ now, project, random }: Surroundings): ReadonlyArray<OpeningBadge> =>
  [...project.badges.values()]
    .filter(({ repeatable, set }) => (set !== "archived" && !repeatable) || random.chance(0.02))
    .flatMap((badge) =>
      awardsOf(badge)
        .filter(() => random.chance(0.4))
        .map(({ tier }) => ({
          badge: badge.key,
          ...(tier !== undefined && { tier: random.chance(0.02) ? "none" : tier.key }),
          earnedAt: now - random.pick([0, 1, 400]) * day + (random.chance(0.02) ? 300_001 : 0),
        })),
    )
