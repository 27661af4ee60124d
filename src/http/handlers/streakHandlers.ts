import type { StreakChange } from "../../domain/decide/StreakDefinitions.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import type { Streak, StreakNeed } from "../../domain/project/StreakDefinition.ts"
import { streakStandings } from "../../domain/user/Progress.ts"
import type { UserState } from "../../domain/user/User.ts"
import { isoTime, isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { NewStreak, StreakPatch, Streaks, UserStreaks } from "../api/Streaks.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { kindOperations } from "./definitionOperations.ts"
import { allParts, named, newMembers, patchOf, replacementOf, showDefinition } from "./Shapes.ts"

export const streakHandlers = (engine: Engine["Service"]): Handlers<typeof Streaks> =>
  kindOperations(engine, "streak", { made: newStreak, changed: streakChange, show: showStreak })

/** The members of a request with their defaults. */
const membersOf = ({
  freezes = {},
  match = "all",
  milestones = [],
  needs = [],
  restDays = [],
}: Pick<typeof NewStreak.Type, "freezes" | "match" | "milestones" | "needs" | "restDays">) => {
  const { everyDays = null, initial = 0, max = initial } = freezes
  return {
    needs: needs.map(({ action, metric, target = 1 }) =>
      // A need has one of both (`actionOrMetric`).
      typeof action === "string" ? { action, target } : { metric: metric!, target },
    ),
    match,
    restDays,
    freezes: { initial, max, everyDays },
    milestones: milestones.map(({ reward, target }) => ({ target, reward: allParts(reward) })),
  }
}

export const newStreak = (payload: typeof NewStreak.Type, id: string) => {
  const { every = "day", name } = payload
  const { segment: _, ...members } = newMembers(payload)
  return { id, ...members, name, every, ...membersOf(payload) }
}

/**
 * The change of a streak to the one that `payload` describes. Key, metadata and `every` stay, and so
 * does the status if `payload` has none.
 */
export const streakReplacement = (payload: typeof NewStreak.Type): StreakChange => {
  const { every: _, ...change } = replacementOf(newStreak(payload, ""), payload)
  return change
}

/** A member that is null gets its default. */
const streakChange = (patch: typeof StreakPatch.Type): StreakChange => {
  const { freezes, match, milestones, needs, restDays, ...others } = patch
  const sent = { freezes, match, milestones, needs, restDays }
  const given = Object.fromEntries(Object.entries(sent).filter(([, value]) => value != null))
  const all = Object.entries(membersOf(given))
  const own = all.filter(([name]) => sent[name as keyof typeof sent] !== undefined)
  return named({ ...patchOf(others), ...Object.fromEntries(own) })
}

const showStreak = ({ termsBefore: _, ...streak }: Streak, now: number) => ({
  ...showDefinition(streak, now),
  needs: streak.needs.map(showNeed),
})

const showNeed = <Need extends StreakNeed>({ action, metric, ...others }: Need) => ({
  action: action ?? null,
  metric: metric ?? null,
  ...others,
})

/** The streaks of a user. */
export const userStreaks = (
  user: UserState,
  project: ProjectState,
  now: number,
): typeof UserStreaks.Type => ({
  userId: user.id,
  streaks: streakStandings(user, project, now).map(
    ({ best, breaksAt, current, definition, freezes, key, lastDay, milestones, period }) => ({
      key,
      name: definition.name,
      every: definition.every,
      current,
      best,
      lastDay,
      freezes,
      breaksAt: isoTimeOrNull(breaksAt),
      period: {
        ...period,
        endsAt: isoTime(period.endsAt),
        needs: period.needs.map(showNeed),
      },
      milestones,
    }),
  ),
})
