/** Decides the changes of an environment's settings. */
import { Result } from "effect"
import type { LevelCurve, LevelCurveKind } from "../project/Level.ts"
import type { ProjectSettings, ProjectState, Reminders } from "../project/Project.ts"
import { type Fault, invalidRequest } from "../values/Errors.ts"
import type { Conditional, Decided } from "./Decided.ts"
import { type KindMembers, partFaults, patchedParts } from "./kindMembers.ts"

/** A level curve in a request: the union of the members of all kinds. */
export interface LevelCurveParts {
  readonly kind?: LevelCurveKind
  readonly base?: number
  readonly xpPerLevel?: number
  readonly factor?: number
  readonly thresholds?: ReadonlyArray<number>
}

/** A merge patch of the settings. `levelCurve` is merged unless its kind changes. */
export interface SettingsChange
  extends Partial<Omit<ProjectSettings, "levelCurve" | "reminders" | "version">> {
  readonly levelCurve?: LevelCurveParts
  /** Null removes them. */
  readonly reminders?: Reminders | null
}

export interface SettingsCommand extends Conditional {
  readonly kind: "updateSettings"
  readonly change: SettingsChange
}

export const decideSettings = (
  state: ProjectState,
  { change: { levelCurve: parts, ...change } }: SettingsCommand,
): Decided<"invalid_request"> => {
  const { settings } = state
  const curveParts =
    parts === undefined ? undefined : patchedParts<LevelCurveParts>(settings.levelCurve, parts)
  const faults: ReadonlyArray<Fault> = [
    ...(curveParts === undefined ? [] : partFaults(curveParts, curveMembers, "/levelCurve")),
  ]
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  // `partFaults` has checked that all required members are present.
  const levelCurve = (curveParts as LevelCurve | undefined) ?? settings.levelCurve
  const {
    clientActions = [],
    reminders,
    ...others
  } = {
    ...settings,
    ...change,
    levelCurve,
    version: settings.version + 1,
  }
  // An empty list and no reminders are stored as absent members.
  const changed = {
    ...others,
    ...(clientActions.length > 0 && { clientActions }),
    ...(reminders && { reminders }),
  }
  return Result.succeed([{ kind: "project.updated", settings: changed }])
}

/** The members of each kind of curve. */
export const curveMembers: Readonly<Record<LevelCurveKind, KindMembers>> = {
  quadratic: { required: ["base"] },
  linear: { required: ["xpPerLevel"] },
  geometric: { required: ["base", "factor"] },
  table: { required: ["thresholds"] },
}
