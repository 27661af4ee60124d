/**
 * Decides the commands to the project actor of an environment. Each kind of definition has its own
 * file.
 */
import { Result } from "effect"
import { definitionOf } from "../project/DefinitionKey.ts"
import { type ProjectState, timeIn } from "../project/Project.ts"
import type { BatchAnswer } from "../record/Record.ts"
import type { ErrorCode, LaurelError } from "../values/Errors.ts"
import {
  type BackfillCommand,
  type BadgeCommand,
  createBadge,
  deleteBadge,
  finishBackfill,
  startBackfill,
  updateBadge,
} from "./BadgeDefinitions.ts"
import { type CloseWindows, decideCloseWindows } from "./CloseWindows.ts"
import { type Conditional, type Decided, versionConflict } from "./Decided.ts"
import { type ApplyDefinitions, applyDefinitions } from "./Definitions.ts"
import { createQuest, deleteQuest, type QuestCommand, updateQuest } from "./QuestDefinitions.ts"
import { createRule, deleteRule, type RuleCommand, updateRule } from "./RuleDefinitions.ts"
import { decideSettings, type SettingsCommand } from "./Settings.ts"
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
  | QuestCommand
  | RuleCommand
  | BadgeCommand
  | SettingsCommand
  | BackfillCommand
  | WebhookCommand
  | CloseWindows
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
export interface ProjectRefusals {
  readonly createQuest: "invalid_request" | "key_taken" | "quota_exceeded"
  readonly updateQuest:
    | "quest_not_found"
    | "invalid_request"
    | "invalid_transition"
    | "in_use"
    | "version_conflict"
  readonly deleteQuest: "quest_not_found" | "in_use" | "version_conflict"
  readonly createRule: "invalid_request" | "key_taken" | "quota_exceeded"
  readonly updateRule:
    | "rule_not_found"
    | "invalid_request"
    | "invalid_transition"
    | "version_conflict"
  readonly deleteRule: "rule_not_found" | "version_conflict"
  readonly createBadge: "invalid_request" | "key_taken" | "quota_exceeded"
  readonly updateBadge:
    | "badge_not_found"
    | "invalid_request"
    | "invalid_transition"
    | "in_use"
    | "version_conflict"
  readonly deleteBadge: "badge_not_found" | "in_use" | "version_conflict"
  readonly updateSettings: "invalid_request" | "in_use" | "version_conflict"
  readonly applyDefinitions: "invalid_request" | "quota_exceeded" | "version_conflict"
  readonly startBackfill: "badge_not_found" | "invalid_transition" | "conflict"
  readonly finishBackfill: "conflict"
  readonly createWebhook: "quota_exceeded"
  readonly updateWebhook: "webhook_not_found" | "version_conflict"
  readonly deleteWebhook: "webhook_not_found" | "version_conflict"
  readonly rotateWebhookSecret: "webhook_not_found" | "quota_exceeded"
  readonly disableWebhook: UsedWebhook
  readonly testWebhook: UsedWebhook
  readonly redeliver: UsedWebhook
  readonly recoverWebhook: UsedWebhook
  readonly closeWindows: "conflict"
  readonly advanceClock: "invalid_request" | "conflict"
  readonly stepClock: "conflict"
  readonly keepBatch: never
  readonly keepRefusal: ErrorCode
}

/**
 * The decision for each kind of command. A code that `ProjectRefusals` does not list for the kind
 * does not compile. `now` is the time of `timeOf`; the server's time differs from the environment's
 * only in a sandbox that has a test clock.
 */
const decisions: {
  readonly [Kind in ProjectCommand["kind"]]: (
    state: ProjectState,
    command: Extract<ProjectCommand, { readonly kind: Kind }>,
    now: number,
  ) => Decided<ProjectRefusals[Kind]>
} = {
  createQuest,
  updateQuest,
  deleteQuest,
  createRule,
  updateRule,
  deleteRule,
  createBadge,
  updateBadge,
  deleteBadge,
  updateSettings: decideSettings,
  applyDefinitions,
  startBackfill,
  finishBackfill,
  createWebhook,
  updateWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  disableWebhook: useWebhook,
  testWebhook: useWebhook,
  redeliver: useWebhook,
  recoverWebhook: useWebhook,
  closeWindows: decideCloseWindows,
  advanceClock,
  stepClock,
  keepBatch: (_, { answer }) => Result.succeed([{ kind: "batch.answered", answer }]),
  keepRefusal: (_, { refusal }) => Result.fail(refusal),
}

/** The version of what a command changes on condition; `undefined`: it has no condition. */
const versionOf = (state: ProjectState, command: ProjectCommand): number | undefined => {
  switch (command.kind) {
    case "updateQuest":
    case "deleteQuest":
      return definitionOf(state.quests, command.questId)?.version
    case "updateRule":
    case "deleteRule":
      return definitionOf(state.rules, command.ruleId)?.version
    case "updateBadge":
    case "deleteBadge":
      return definitionOf(state.badges, command.badgeId)?.version
    case "updateWebhook":
    case "deleteWebhook":
      return state.webhooks.get(command.webhookId)?.version
    case "updateSettings":
      return state.settings.version
    case "applyDefinitions":
      return state.definitionsVersion
    default:
      return undefined
  }
}

/**
 * The time at which a command is decided. Webhooks belong to the server: their secrets end by its
 * time. The test clock itself must know both times.
 */
const timeOf = (state: ProjectState, { kind }: ProjectCommand, at: number): number => {
  switch (kind) {
    case "createWebhook":
    case "updateWebhook":
    case "rotateWebhookSecret":
    case "advanceClock":
    case "stepClock":
      return at
    default:
      return timeIn(state, at)
  }
}

/**
 * Decides `command` for the project in `state`. `at` is the server's time. A refusal has all faults
 * of the command. A condition counts only for a command that would be accepted without it (RFC 9110,
 * section 13.2.1).
 */
export const decideProject = <Command extends ProjectCommand>(
  state: ProjectState,
  command: Command,
  at: number,
): Decided<ProjectRefusals[Command["kind"]]> => {
  const decide = decisions[command.kind] as (
    state: ProjectState,
    command: Command,
    now: number,
  ) => Decided<ProjectRefusals[Command["kind"]]>
  const decided = decide(state, command, timeOf(state, command, at))
  const version = versionOf(state, command)
  if (version === undefined || Result.isFailure(decided)) return decided
  const conflict = versionConflict(command as Conditional, version)
  return conflict === undefined
    ? decided
    : Result.fail(conflict as LaurelError<ProjectRefusals[Command["kind"]]>)
}
