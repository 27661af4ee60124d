import { Effect } from "effect"
import type { StreakChange } from "../../domain/decide/StreakDefinitions.ts"
import { definitionOf } from "../../domain/project/DefinitionKey.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import { isShown, type Streak, type StreakNeed } from "../../domain/project/StreakDefinition.ts"
import type { Repairing } from "../../domain/record/Record.ts"
import type { StreakPausing } from "../../domain/record/StreakFact.ts"
import { type StreakStanding, streakStandings } from "../../domain/user/Progress.ts"
import { streakCalendar } from "../../domain/user/StreakCalendar.ts"
import {
  type DayRange,
  firstDayOfPeriod,
  periodAt,
  periodOfDay,
} from "../../domain/user/StreakPeriods.ts"
import type { RepairOffer } from "../../domain/user/StreakRepair.ts"
import { type UserState, userZones } from "../../domain/user/User.ts"
import { dateOf, dayOf } from "../../domain/values/Calendar.ts"
import { invalidRequest, laurelError } from "../../domain/values/Errors.ts"
import { isoTime, isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { NewRepair } from "../api/Spends.ts"
import type {
  NewStreak,
  PausedDays,
  StreakCalendar,
  StreakPatch,
  Streaks,
  UserStreak,
  UserStreaks,
} from "../api/Streaks.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { kindOperations } from "./definitionOperations.ts"
import {
  allParts,
  foundOr,
  named,
  newMembers,
  patchOf,
  replacementOf,
  showDefinition,
} from "./Shapes.ts"

const notFound = laurelError("streak_not_found", "No streak of this project has this id or key.")

export const streakHandlers = (engine: Engine["Service"]): Handlers<typeof Streaks> =>
  kindOperations(engine, "streak", { made: newStreak, changed: streakChange, show: showStreak })

const daysOf = ({ from, to }: typeof PausedDays.Type) => ({ from: dayOf(from)!, to: dayOf(to)! })

/** The members of a request with their defaults. */
const membersOf = ({
  atRisk,
  freezes = {},
  match = "all",
  milestones = [],
  needs = [],
  pauses = [],
  repair,
  restDays = [],
}: Pick<
  typeof NewStreak.Type,
  "atRisk" | "freezes" | "match" | "milestones" | "needs" | "pauses" | "repair" | "restDays"
>) => {
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
    atRisk: atRisk ?? null,
    // The decision numbers them.
    pauses: pauses.map(({ from, segment, to }) => ({
      ...daysOf({ from, to }),
      segment: segment ?? null,
      number: 0,
    })),
    repair: repair == null ? null : { withinDays: repair.withinDays, price: repair.price ?? null },
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
  const { atRisk, freezes, match, milestones, needs, pauses, repair, restDays, ...others } = patch
  const sent = { atRisk, freezes, match, milestones, needs, pauses, repair, restDays }
  const given = Object.fromEntries(Object.entries(sent).filter(([, value]) => value != null))
  const all = Object.entries(membersOf(given))
  const own = all.filter(([name]) => sent[name as keyof typeof sent] !== undefined)
  return named({ ...patchOf(others), ...Object.fromEntries(own) })
}

const showStreak = ({ pausesMade: _, termsBefore: __, ...streak }: Streak, now: number) => ({
  ...showDefinition(streak, now),
  pauses: streak.pauses.map(({ from, segment, to }) => ({ ...showDays([from, to]), segment })),
  needs: streak.needs.map(showNeed),
})

const showDays = ([from, to]: DayRange) => ({ from: dateOf(from), to: dateOf(to) })

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
  streaks: streakStandings(user, project, now).map(showStanding),
})

const showStanding = ({
  best,
  breaksAt,
  current,
  definition,
  freezes,
  key,
  lastDay,
  milestones,
  pauses,
  period,
  repair,
}: StreakStanding): typeof UserStreak.Type => ({
  key,
  name: definition.name,
  every: definition.every,
  current,
  best,
  lastDay,
  freezes,
  breaksAt: isoTimeOrNull(breaksAt),
  pauses: pauses.map(showDays),
  repair: showOffer(repair),
  period: {
    ...period,
    endsAt: isoTime(period.endsAt),
    needs: period.needs.map(showNeed),
  },
  milestones,
})

const showOffer = (offer: RepairOffer | undefined) =>
  offer === undefined
    ? null
    : { ...showDays(offer.days), until: dateOf(offer.until), price: offer.price }

/** A user's streak, after a request changed it. */
export const userStreak = Effect.fnUntraced(function* (
  user: UserState,
  project: ProjectState,
  now: number,
  idOrKey: string,
) {
  const key = definitionOf(project.streaks, idOrKey)?.key
  const standing = streakStandings(user, project, now).find((one) => one.key === key)
  return { userId: user.id, streak: showStanding(yield* foundOr(standing, notFound)) }
})

/** The command that pauses a streak of a user. */
export const pausingOf = (streak: string, days: typeof PausedDays.Type): StreakPausing => ({
  kind: "pause",
  streak,
  ...daysOf(days),
})

/** The command that repairs a streak of a user. The key stays the same, so a repeat is recognised. */
export const repairOf = (
  project: ProjectState,
  idOrKey: string,
  about: typeof NewRepair.Type,
): Repairing => ({
  kind: "spend",
  ...about,
  currencies: {},
  repair: definitionOf(project.streaks, idOrKey)?.key ?? idOrKey,
})

/** The days, weeks or months of a user's streak between two dates. */
export const userStreakCalendar = Effect.fnUntraced(function* (
  user: UserState,
  project: ProjectState,
  now: number,
  idOrKey: string,
  query: { readonly from?: string; readonly to?: string },
) {
  const definition = yield* foundOr(definitionOf(project.streaks, idOrKey), notFound)
  if (!isShown(definition)) return yield* Effect.fail(notFound)
  const { every, key } = definition
  const zones = userZones(user, project)
  const periodOf = (date: string) => periodOfDay(definition, dayOf(date)!)
  const to = query.to === undefined ? periodAt(definition, zones, now) : periodOf(query.to)
  const from = query.from === undefined ? to - periodsBefore : periodOf(query.from)
  if (from > to) return yield* Effect.fail(wrongOrder)
  if (to - from >= limits.streakCalendarPeriodsMax) return yield* Effect.fail(tooLong)
  const times = { createdAt: user.createdAt, now }
  const listed = streakCalendar(user.streaks.get(key), definition, zones, times, [from, to])
  const periods = listed.map(({ period, status }) => ({
    firstDay: dateOf(firstDayOfPeriod(definition, period)),
    status,
  }))
  return { userId: user.id, key, every, periods } satisfies typeof StreakCalendar.Type
})

/** How many periods before the last one a calendar begins by default. */
const periodsBefore = 30

const fromFault = (code: string, detail: string) =>
  invalidRequest([{ pointer: "query/from", code, detail }])
const wrongOrder = fromFault("out_of_range", "must not be after `to`")
const tooLong = fromFault(
  "out_of_range",
  `must be less than ${limits.streakCalendarPeriodsMax} days, weeks or months before \`to\``,
)
