/** Decides the changes of an environment's settings. */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import type { LevelCurve, LevelCurveKind } from "../project/Level.ts"
import type { ProjectSettings, ProjectState, StreakDefinition } from "../project/Project.ts"
import { type Fault, invalidRequest } from "../values/Errors.ts"
import { type Conditional, type Decided, noChange } from "./Decided.ts"
import { type KindMembers, partFaults, patchedParts } from "./Draft.ts"
import { streaksInUse } from "./definitionChecks.ts"

/** A level curve in a request: the union of the members of all kinds. */
export interface LevelCurveParts {
  readonly kind?: LevelCurveKind
  readonly base?: number
  readonly xpPerLevel?: number
  readonly factor?: number
  readonly thresholds?: ReadonlyArray<number>
}

/** A merge patch of the settings. `levelCurve` is merged unless its kind changes. */
export interface SettingsChange extends Partial<Omit<ProjectSettings, "levelCurve" | "version">> {
  readonly levelCurve?: LevelCurveParts
}

export interface SettingsCommand extends Conditional {
  readonly kind: "updateSettings"
  readonly change: SettingsChange
}

export const decideSettings = (
  state: ProjectState,
  { change: { levelCurve: parts, ...change } }: SettingsCommand,
  now: number,
): Decided<"invalid_request" | "in_use"> => {
  const { settings } = state
  const curveParts =
    parts === undefined ? undefined : patchedParts<LevelCurveParts>(settings.levelCurve, parts)
  const faults: ReadonlyArray<Fault> = [
    ...(curveParts === undefined ? [] : partFaults(curveParts, kindMembers, "/levelCurve")),
    ...streakFaults(change.streaks ?? []),
  ]
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  const kept = new Set((change.streaks ?? settings.streaks).map(({ key }) => key))
  const refusal = streaksInUse(state, kept)
  if (refusal !== undefined) return Result.fail(refusal)
  // `partFaults` has checked that all required members are present.
  const levelCurve = (curveParts as LevelCurve | undefined) ?? settings.levelCurve
  const { clientActions = [], ...others } = {
    ...settings,
    ...change,
    ...(change.streaks && {
      streaks: change.streaks.map((streak) => dated(settings, streak, now)),
    }),
    levelCurve,
    version: settings.version + 1,
  }
  // An empty list is stored as an absent member.
  const changed = clientActions.length === 0 ? others : { ...others, clientActions }
  return Result.succeed([{ kind: "project.updated", settings: changed }])
}

/** The definition with its former freezes, which still count for the days of their time. */
const dated = (
  { streaks }: ProjectSettings,
  { freezesBefore: _, ...streak }: StreakDefinition,
  now: number,
): StreakDefinition => {
  const before = streaks.find(({ key }) => key === streak.key)
  if (before === undefined) return streak
  const { freezes, freezesBefore = [] } = before
  const edited = noChange(freezes, streak.freezes)
    ? freezesBefore
    : [...freezesBefore, { freezes, until: now }].slice(-limits.streakEditsMax)
  return edited.length === 0 ? streak : { ...streak, freezesBefore: edited }
}

const kindMembers: Readonly<Record<LevelCurveKind, KindMembers>> = {
  quadratic: { required: ["base"] },
  linear: { required: ["xpPerLevel"] },
  geometric: { required: ["base", "factor"] },
  table: { required: ["thresholds"] },
}

const streakFaults = (streaks: ProjectSettings["streaks"]): ReadonlyArray<Fault> =>
  streaks.flatMap(({ freezes }, index) =>
    freezes.initial > freezes.max
      ? [
          {
            pointer: `/streaks/${index}/freezes/initial`,
            code: "out_of_range",
            detail: "must be at most max",
          },
        ]
      : [],
  )
