/** Decides a command to an environment's project actor; each subject has its own file. */
import { Result } from "effect"
import type { ProjectState } from "../project/Project.ts"
import { type BackfillCommand, decideBackfillRun } from "./BackfillRuns.ts"
import { type BadgeCommand, decideBadge } from "./BadgeDefinitions.ts"
import { type CloseWindows, decideCloseWindows } from "./CloseWindows.ts"
import type { Decided } from "./Decided.ts"
import { decideQuest, type QuestCommand } from "./QuestDefinitions.ts"
import { decideRule, type RuleCommand } from "./RuleDefinitions.ts"
import { decideSettings, type SettingsCommand } from "./Settings.ts"
import { decideWebhook, type WebhookCommand } from "./Webhooks.ts"

export type ProjectCommand =
  | QuestCommand
  | RuleCommand
  | BadgeCommand
  | SettingsCommand
  | BackfillCommand
  | WebhookCommand
  | CloseWindows
  | { readonly kind: "keepBatch"; readonly results: unknown }

/** The facts of `command` for the project in `state`, or a refusal with all of its faults. */
export const decideProject = (
  state: ProjectState,
  command: ProjectCommand,
  now: number,
): Decided => {
  switch (command.kind) {
    case "createQuest":
    case "updateQuest":
    case "deleteQuest":
      return decideQuest(state, command, now)
    case "createRule":
    case "updateRule":
    case "deleteRule":
      return decideRule(state, command, now)
    case "createBadge":
    case "updateBadge":
    case "deleteBadge":
      return decideBadge(state, command, now)
    case "updateSettings":
      return decideSettings(state, command)
    case "startBackfill":
    case "finishBackfill":
      return decideBackfillRun(state, command)
    case "closeWindows":
      return decideCloseWindows(state, command, now)
    case "keepBatch":
      return Result.succeed([{ kind: "batch.answered", results: command.results }])
    default:
      return decideWebhook(state, command, now)
  }
}
