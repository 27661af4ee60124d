/**
 * Freezes that rewards give to streaks, and their undo. A streak takes freezes up to its `max`, also
 * while it is paused or before it starts; a draft, an archived streak and one that has ended take
 * none. A draft of a decision (`Draft.ts`) has the streak after the facts so far.
 */
import { definitionWithKey } from "../project/DefinitionKey.ts"
import type { ProjectState } from "../project/Project.ts"
import { isShown, type Streak } from "../project/StreakDefinition.ts"
import type { Source } from "../record/BalanceFact.ts"
import type { Fact } from "../record/Record.ts"
import { freezesRoom, noStreak, type StreakState, streakNow, withFreezes } from "../user/Streak.ts"
import { type UserState, userZones } from "../user/User.ts"

/** Who gets or loses freezes: `streak` is the state after the facts so far. */
interface Holder {
  readonly user: UserState | undefined
  readonly project: ProjectState
  readonly now: number
  readonly streak: StreakState | undefined
}

interface Change {
  readonly facts: ReadonlyArray<Fact>
  /** Absent: the streak did not change. */
  readonly streak?: StreakState
}

const takesFreezes = (definition: Streak, now: number): boolean =>
  isShown(definition) && (definition.endsAt === null || now < definition.endsAt)

/** Gives freezes: the facts have what the user gets, and what was cut. */
export const givenFreezes = (
  { now, project, streak = noStreak, user }: Holder,
  key: string,
  asked: number,
  source: Source,
): Change => {
  const definition = definitionWithKey(project.streaks, key)
  if (asked === 0 || definition === undefined || !takesFreezes(definition, now)) return unchanged
  const zones = userZones(user, project)
  const amount = Math.min(asked, freezesRoom(streak, definition, zones, now))
  const next = amount === 0 ? streak : withFreezes(streak, definition, zones, amount, now)
  const total = streakNow(next, definition, zones, now).freezes
  const cut = { kind: "streak.freezes_capped", key, amount: asked - amount, total, source } as const
  const capped = amount < asked ? [cut] : []
  if (amount === 0) return { facts: capped }
  const fact = { kind: "streak.freezes_earned", key, amount, total, source, streak: next } as const
  return { facts: [...capped, fact], streak: next }
}

/** Takes back as many of the freezes as are left; `amount` says how many. */
export const takenFreezes = (
  { now, project, streak, user }: Holder,
  key: string,
  asked: number,
): Change & { readonly amount: number } => {
  const definition = definitionWithKey(project.streaks, key)
  if (streak === undefined || definition === undefined || !takesFreezes(definition, now)) {
    return { ...unchanged, amount: 0 }
  }
  const zones = userZones(user, project)
  const { current, freezes } = streakNow(streak, definition, zones, now)
  const left = current > 0 ? freezes : (streak.waiting ?? 0)
  const amount = Math.min(asked, left)
  if (amount === 0) return { ...unchanged, amount }
  const next = withFreezes(streak, definition, zones, -amount, now)
  const total = streakNow(next, definition, zones, now).freezes
  const fact = { kind: "streak.freezes_revoked", key, amount, total, streak: next } as const
  return { facts: [fact], streak: next, amount }
}

const unchanged: Change = { facts: [] }
