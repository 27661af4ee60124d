/**
 * Decides the commands to the project actor of an environment. Each kind of definition has its own
 * file.
 */
import { Result } from "effect"
import { type ProjectState, timeIn } from "../project/Project.ts"
import type { BatchAnswer } from "../record/BatchAnswer.ts"
import type { ErrorCode, LaurelError } from "../values/Errors.ts"
import {
  type BackfillCommand,
  finishBackfill,
  startBackfill,
  startMetricBackfill,
} from "./BadgeDefinitions.ts"
import { type CloseBoard, closeBoard, closingBoardVersion } from "./BoardEnd.ts"
import { type CloseWindows, decideCloseWindows } from "./CloseWindows.ts"
import { type Conditional, type Decided, versionConflict } from "./Decided.ts"
import { type ApplyDefinitions, applyDefinitions } from "./Definitions.ts"
import {
  type CompleteGoal,
  decideCompleteGoal,
  decideFinishGoal,
  type FinishGoal,
  type GoalTotals,
  noGoals,
} from "./Goals.ts"
import { type AnyDefinitionCommand, type DefinitionRefusals, definitionHandlings } from "./Kinds.ts"
import { type CloseLeagues, decideCloseLeagues } from "./Leagues.ts"
import { type FinishPayout, finishPayout, type ProgressPayout, progressPayout } from "./Payouts.ts"
import { decideSettings, type SettingsCommand } from "./Settings.ts"
import { createSource, type RotateSourceSecret, rotateSourceSecret } from "./SourceDefinitions.ts"
import { deleteTeam, disqualifyTeam, putTeam, type TeamCommand, teamVersion } from "./Teams.ts"
import { type AdvanceClock, advanceClock, type StepClock, stepClock } from "./TestClock.ts"
import {
  createWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  updateWebhook,
  useWebhook,
  type WebhookCommand,
} from "./Webhooks.ts"

export type ProjectCommand =
  | AnyDefinitionCommand
  | SettingsCommand
  | BackfillCommand
  | WebhookCommand
  | RotateSourceSecret
  | TeamCommand
  | CloseBoard
  | CloseWindows
  | CloseLeagues
  | CompleteGoal
  | FinishGoal
  | ProgressPayout
  | FinishPayout
  | ApplyDefinitions
  | AdvanceClock
  | StepClock
  | { readonly kind: "keepBatch"; readonly answer: BatchAnswer }
  | KeepRefusal

/**
 * Keeps the refusal of a command with an Idempotency-Key to a user who does not exist. A record of
 * that user would stay after an erasure, since no later record leads to it.
 */
export interface KeepRefusal {
  readonly kind: "keepRefusal"
  readonly refusal: LaurelError
}

type UsedWebhook = "webhook_not_found" | "webhook_disabled"

/** The codes with which the decision may refuse each kind of command. */
export interface ProjectRefusals extends DefinitionRefusals {
  readonly updateSettings: "invalid_request" | "version_conflict"
  readonly applyDefinitions: "invalid_request" | "quota_exceeded" | "version_conflict"
  readonly startBackfill: "badge_not_found" | "invalid_transition" | "conflict"
  readonly startMetricBackfill: "metric_not_found" | "invalid_transition" | "conflict"
  readonly finishBackfill: "conflict"
  readonly putTeam: "invalid_request" | "quota_exceeded" | "version_conflict"
  readonly deleteTeam: "team_not_found" | "version_conflict"
  readonly disqualifyTeam: "leaderboard_not_found" | "team_not_found" | "invalid_request"
  readonly createWebhook: "quota_exceeded"
  readonly updateWebhook: "webhook_not_found" | "version_conflict"
  readonly deleteWebhook: "webhook_not_found" | "version_conflict"
  readonly rotateWebhookSecret: "webhook_not_found" | "quota_exceeded"
  readonly rotateSourceSecret: "source_not_found" | "invalid_transition" | "quota_exceeded"
  readonly disableWebhook: UsedWebhook
  readonly testWebhook: UsedWebhook
  readonly redeliver: UsedWebhook
  readonly recoverWebhook: UsedWebhook
  readonly closeLeaderboard: "leaderboard_not_found" | "invalid_transition" | "version_conflict"
  readonly closeWindows: "conflict"
  readonly closeLeagues: "conflict"
  readonly completeGoal: "conflict"
  readonly finishGoal: "conflict"
  readonly progressPayout: "conflict"
  readonly finishPayout: "conflict"
  readonly advanceClock: "invalid_request" | "conflict"
  readonly stepClock: "conflict"
  readonly keepBatch: never
  readonly keepRefusal: ErrorCode
}

type CommandOf<Kind> = Extract<ProjectCommand, { readonly kind: Kind }>

/** How a kind of command is decided. */
type Handling<Kind extends keyof ProjectRefusals> = {
  /** A code that `ProjectRefusals` does not list for the kind does not compile. */
  readonly decide: (
    state: ProjectState,
    command: CommandOf<Kind>,
    now: number,
    goals: GoalTotals,
  ) => Decided<ProjectRefusals[Kind]>
  /**
   * The command is decided at the server's time; default: at the environment's. The two differ only
   * in a sandbox whose test clock was advanced. Webhooks belong to the server: their secrets end by
   * its time, and so do those of sources. The test clock itself must know both times.
   */
  readonly atServerTime?: true
} & ("ifMatch" extends keyof CommandOf<Kind>
  ? {
      /** The present version of what the command changes; `undefined`: it does not exist. */
      readonly version: (state: ProjectState, command: CommandOf<Kind>) => number | undefined
    }
  : { readonly version?: never })

const webhookVersion = (
  { webhooks }: ProjectState,
  { webhookId }: { readonly webhookId: string },
) => webhooks.get(webhookId)?.version

const handlings: { readonly [Kind in ProjectCommand["kind"]]: Handling<Kind> } = {
  ...definitionHandlings,
  createSource: { decide: createSource },
  updateSettings: { decide: decideSettings, version: ({ settings }) => settings.version },
  applyDefinitions: {
    decide: applyDefinitions,
    version: ({ definitionsVersion }) => definitionsVersion,
  },
  startBackfill: { decide: startBackfill },
  startMetricBackfill: { decide: startMetricBackfill },
  finishBackfill: { decide: finishBackfill },
  putTeam: { decide: putTeam, version: teamVersion },
  deleteTeam: { decide: deleteTeam, version: teamVersion },
  disqualifyTeam: { decide: disqualifyTeam },
  createWebhook: { decide: createWebhook, atServerTime: true },
  updateWebhook: { decide: updateWebhook, version: webhookVersion, atServerTime: true },
  deleteWebhook: { decide: deleteWebhook, version: webhookVersion },
  rotateWebhookSecret: { decide: rotateWebhookSecret, atServerTime: true },
  rotateSourceSecret: { decide: rotateSourceSecret, atServerTime: true },
  disableWebhook: { decide: useWebhook },
  testWebhook: { decide: useWebhook },
  redeliver: { decide: useWebhook },
  recoverWebhook: { decide: useWebhook },
  closeLeaderboard: { decide: closeBoard, version: closingBoardVersion },
  closeWindows: { decide: decideCloseWindows },
  closeLeagues: { decide: decideCloseLeagues },
  completeGoal: { decide: decideCompleteGoal },
  finishGoal: { decide: decideFinishGoal },
  progressPayout: { decide: progressPayout },
  finishPayout: { decide: finishPayout },
  advanceClock: { decide: advanceClock, atServerTime: true },
  stepClock: { decide: stepClock, atServerTime: true },
  keepBatch: {
    decide: (_, { answer }) => Result.succeed([{ kind: "batch.answered", answer }]),
  },
  keepRefusal: { decide: (_, { refusal }) => Result.fail(refusal) },
}

/** `Handling` for a command of any kind. */
interface AnyHandling<Command extends ProjectCommand> {
  readonly decide: (
    state: ProjectState,
    command: Command,
    now: number,
    goals: GoalTotals,
  ) => Decided<ProjectRefusals[Command["kind"]]>
  readonly atServerTime?: true
  readonly version?: (state: ProjectState, command: Command) => number | undefined
}

/**
 * Decides `command` for the project in `state`. `at` is the server's time; `goals` has the totals of
 * its goals. A refusal has all faults
 * of the command. A condition counts only for a command that would be accepted without it (RFC 9110,
 * section 13.2.1).
 */
export const decideProject = <Command extends ProjectCommand>(
  state: ProjectState,
  command: Command,
  at: number,
  goals: GoalTotals = noGoals,
): Decided<ProjectRefusals[Command["kind"]]> => {
  const handling = handlings[command.kind] as unknown as AnyHandling<Command>
  const now = handling.atServerTime === true ? at : timeIn(state, at)
  const decided = handling.decide(state, command, now, goals)
  const version = handling.version?.(state, command)
  if (version === undefined || Result.isFailure(decided)) return decided
  const conflict = versionConflict(command as Conditional, version)
  return conflict === undefined
    ? decided
    : Result.fail(conflict as LaurelError<ProjectRefusals[Command["kind"]]>)
}
