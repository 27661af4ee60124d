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
import { type BoostCommand, createBoost, deleteBoost, updateBoost } from "./BoostDefinitions.ts"
import { type CloseWindows, decideCloseWindows } from "./CloseWindows.ts"
import {
  type CurrencyCommand,
  createCurrency,
  deleteCurrency,
  updateCurrency,
} from "./CurrencyDefinitions.ts"
import { type Conditional, type Decided, versionConflict } from "./Decided.ts"
import { type ApplyDefinitions, applyDefinitions } from "./Definitions.ts"
import {
  createMetric,
  deleteMetric,
  type MetricCommand,
  updateMetric,
} from "./MetricDefinitions.ts"
import { createQuest, deleteQuest, type QuestCommand, updateQuest } from "./QuestDefinitions.ts"
import { createRule, deleteRule, type RuleCommand, updateRule } from "./RuleDefinitions.ts"
import {
  createSegment,
  deleteSegment,
  type SegmentCommand,
  updateSegment,
} from "./SegmentDefinitions.ts"
import { decideSettings, type SettingsCommand } from "./Settings.ts"
import {
  createStreak,
  deleteStreak,
  type StreakCommand,
  updateStreak,
} from "./StreakDefinitions.ts"
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
  | BoostCommand
  | CurrencyCommand
  | SegmentCommand
  | MetricCommand
  | StreakCommand
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
  readonly createBoost: "invalid_request" | "key_taken" | "quota_exceeded"
  readonly updateBoost:
    | "boost_not_found"
    | "invalid_request"
    | "invalid_transition"
    | "quota_exceeded"
    | "version_conflict"
  readonly deleteBoost: "boost_not_found" | "version_conflict"
  readonly createCurrency: "invalid_request" | "key_taken" | "quota_exceeded"
  readonly updateCurrency:
    | "currency_not_found"
    | "invalid_request"
    | "invalid_transition"
    | "in_use"
    | "version_conflict"
  readonly deleteCurrency: "currency_not_found" | "in_use" | "version_conflict"
  readonly createSegment: "invalid_request" | "key_taken" | "quota_exceeded"
  readonly updateSegment:
    | "segment_not_found"
    | "invalid_request"
    | "invalid_transition"
    | "in_use"
    | "version_conflict"
  readonly deleteSegment: "segment_not_found" | "in_use" | "version_conflict"
  readonly createMetric: "invalid_request" | "key_taken" | "quota_exceeded"
  readonly updateMetric:
    | "metric_not_found"
    | "invalid_request"
    | "invalid_transition"
    | "in_use"
    | "version_conflict"
  readonly deleteMetric: "metric_not_found" | "in_use" | "version_conflict"
  readonly createStreak: "invalid_request" | "key_taken" | "quota_exceeded"
  readonly updateStreak:
    | "streak_not_found"
    | "invalid_request"
    | "invalid_transition"
    | "in_use"
    | "version_conflict"
  readonly deleteStreak: "streak_not_found" | "in_use" | "version_conflict"
  readonly updateSettings: "invalid_request" | "version_conflict"
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

type CommandOf<Kind> = Extract<ProjectCommand, { readonly kind: Kind }>

/** How a kind of command is decided. */
type Handling<Kind extends keyof ProjectRefusals> = {
  /** A code that `ProjectRefusals` does not list for the kind does not compile. */
  readonly decide: (
    state: ProjectState,
    command: CommandOf<Kind>,
    now: number,
  ) => Decided<ProjectRefusals[Kind]>
  /**
   * The command is decided at the server's time; default: at the environment's. The two differ only
   * in a sandbox whose test clock was advanced. Webhooks belong to the server: their secrets end by
   * its time. The test clock itself must know both times.
   */
  readonly atServerTime?: true
} & ("ifMatch" extends keyof CommandOf<Kind>
  ? {
      /** The present version of what the command changes; `undefined`: it does not exist. */
      readonly version: (state: ProjectState, command: CommandOf<Kind>) => number | undefined
    }
  : { readonly version?: never })

const questVersion = ({ quests }: ProjectState, { questId }: { readonly questId: string }) =>
  definitionOf(quests, questId)?.version
const ruleVersion = ({ rules }: ProjectState, { ruleId }: { readonly ruleId: string }) =>
  definitionOf(rules, ruleId)?.version
const badgeVersion = ({ badges }: ProjectState, { badgeId }: { readonly badgeId: string }) =>
  definitionOf(badges, badgeId)?.version
const boostVersion = ({ boosts }: ProjectState, { boostId }: { readonly boostId: string }) =>
  definitionOf(boosts, boostId)?.version
const currencyVersion = (
  { currencies }: ProjectState,
  { currencyId }: { readonly currencyId: string },
) => definitionOf(currencies, currencyId)?.version
const segmentVersion = (
  { segments }: ProjectState,
  { segmentId }: { readonly segmentId: string },
) => definitionOf(segments, segmentId)?.version
const metricVersion = ({ metrics }: ProjectState, { metricId }: { readonly metricId: string }) =>
  definitionOf(metrics, metricId)?.version
const streakVersion = ({ streaks }: ProjectState, { streakId }: { readonly streakId: string }) =>
  definitionOf(streaks, streakId)?.version
const webhookVersion = (
  { webhooks }: ProjectState,
  { webhookId }: { readonly webhookId: string },
) => webhooks.get(webhookId)?.version

const handlings: { readonly [Kind in ProjectCommand["kind"]]: Handling<Kind> } = {
  createQuest: { decide: createQuest },
  updateQuest: { decide: updateQuest, version: questVersion },
  deleteQuest: { decide: deleteQuest, version: questVersion },
  createRule: { decide: createRule },
  updateRule: { decide: updateRule, version: ruleVersion },
  deleteRule: { decide: deleteRule, version: ruleVersion },
  createBadge: { decide: createBadge },
  updateBadge: { decide: updateBadge, version: badgeVersion },
  deleteBadge: { decide: deleteBadge, version: badgeVersion },
  createBoost: { decide: createBoost },
  updateBoost: { decide: updateBoost, version: boostVersion },
  deleteBoost: { decide: deleteBoost, version: boostVersion },
  createCurrency: { decide: createCurrency },
  updateCurrency: { decide: updateCurrency, version: currencyVersion },
  deleteCurrency: { decide: deleteCurrency, version: currencyVersion },
  createSegment: { decide: createSegment },
  updateSegment: { decide: updateSegment, version: segmentVersion },
  deleteSegment: { decide: deleteSegment, version: segmentVersion },
  createMetric: { decide: createMetric },
  updateMetric: { decide: updateMetric, version: metricVersion },
  deleteMetric: { decide: deleteMetric, version: metricVersion },
  createStreak: { decide: createStreak },
  updateStreak: { decide: updateStreak, version: streakVersion },
  deleteStreak: { decide: deleteStreak, version: streakVersion },
  updateSettings: { decide: decideSettings, version: ({ settings }) => settings.version },
  applyDefinitions: {
    decide: applyDefinitions,
    version: ({ definitionsVersion }) => definitionsVersion,
  },
  startBackfill: { decide: startBackfill },
  finishBackfill: { decide: finishBackfill },
  createWebhook: { decide: createWebhook, atServerTime: true },
  updateWebhook: { decide: updateWebhook, version: webhookVersion, atServerTime: true },
  deleteWebhook: { decide: deleteWebhook, version: webhookVersion },
  rotateWebhookSecret: { decide: rotateWebhookSecret, atServerTime: true },
  disableWebhook: { decide: useWebhook },
  testWebhook: { decide: useWebhook },
  redeliver: { decide: useWebhook },
  recoverWebhook: { decide: useWebhook },
  closeWindows: { decide: decideCloseWindows },
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
  ) => Decided<ProjectRefusals[Command["kind"]]>
  readonly atServerTime?: true
  readonly version?: (state: ProjectState, command: Command) => number | undefined
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
  const handling = handlings[command.kind] as unknown as AnyHandling<Command>
  const now = handling.atServerTime === true ? at : timeIn(state, at)
  const decided = handling.decide(state, command, now)
  const version = handling.version?.(state, command)
  if (version === undefined || Result.isFailure(decided)) return decided
  const conflict = versionConflict(command as Conditional, version)
  return conflict === undefined
    ? decided
    : Result.fail(conflict as LaurelError<ProjectRefusals[Command["kind"]]>)
}
