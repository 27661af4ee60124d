/**
 * What one environment of a project shares: its definitions. Pure: `decideProject` says what a command
 * does, `applyProject` folds the facts. User actors read the state as one immutable value, so that an event
 * sees either all of a definition or none of it; `rulesByAction` keeps its cost flat however many rules exist.
 */
import { Result } from "effect"
import { limits } from "../Limits.ts"
import { type LaurelError, laurelError } from "./Errors.ts"
import { defaultLevelCurve, type LevelCurve } from "./Level.ts"
import type { Quest } from "./Quest.ts"
import type { Fact, JournalRecord } from "./Record.ts"
import type { Rule } from "./Rule.ts"
import type { Webhook } from "./Webhook.ts"

export interface ProjectState {
  /** The sequence of the last record applied. */
  readonly sequence: number
  readonly levelCurve: LevelCurve
  readonly quests: ReadonlyMap<string, Quest>
  readonly rules: ReadonlyMap<string, Rule>
  readonly webhooks: ReadonlyMap<string, Webhook>
  /** The enabled rules of each action, in the order of their creation. Derived from `rules`. */
  readonly rulesByAction: ReadonlyMap<string, ReadonlyArray<Rule>>
}

export const emptyProject: ProjectState = {
  sequence: 0,
  levelCurve: defaultLevelCurve,
  quests: new Map(),
  rules: new Map(),
  webhooks: new Map(),
  rulesByAction: new Map(),
}

export type ProjectCommand =
  | { readonly kind: "createQuest"; readonly quest: Omit<Quest, "createdAt" | "updatedAt"> }
  | { readonly kind: "createRule"; readonly rule: Omit<Rule, "createdAt" | "updatedAt"> }
  | { readonly kind: "createWebhook"; readonly webhook: Omit<Webhook, "createdAt"> }
  | { readonly kind: "keepBatch"; readonly results: unknown }

const full = (held: number, most: number, things: string): LaurelError | undefined =>
  held < most
    ? undefined
    : laurelError("quota_exceeded", `An environment holds at most ${most} ${things}.`)

export const decideProject = (
  state: ProjectState,
  command: ProjectCommand,
  now: number,
): Result.Result<ReadonlyArray<Fact>, LaurelError> => {
  const created = (fact: Fact, refusal: LaurelError | undefined) =>
    refusal === undefined ? Result.succeed([fact]) : Result.fail(refusal)
  switch (command.kind) {
    case "createQuest": {
      const quest = { ...command.quest, createdAt: now, updatedAt: now }
      return created(
        { kind: "quest.created", quest },
        full(state.quests.size, limits.questsMax, "quests"),
      )
    }
    case "createRule": {
      const rule = { ...command.rule, createdAt: now, updatedAt: now }
      return created(
        { kind: "rule.created", rule },
        full(state.rules.size, limits.rulesMax, "rules"),
      )
    }
    case "createWebhook": {
      const webhook = { ...command.webhook, createdAt: now }
      return created(
        { kind: "webhook.created", webhook },
        full(state.webhooks.size, limits.webhooksMax, "webhooks"),
      )
    }
    case "keepBatch":
      return Result.succeed([{ kind: "batch.answered", results: command.results }])
  }
}

/** The enabled rules by action, in the order of `rules`. */
export const indexRules = (
  rules: ReadonlyMap<string, Rule>,
): ReadonlyMap<string, ReadonlyArray<Rule>> => {
  const index = new Map<string, Array<Rule>>()
  for (const rule of rules.values()) {
    if (!rule.enabled) continue
    const sameAction = index.get(rule.action)
    if (sameAction === undefined) index.set(rule.action, [rule])
    else sameAction.push(rule)
  }
  return index
}

export const applyProject = (state: ProjectState, record: JournalRecord): ProjectState => {
  let next: ProjectState = { ...state, sequence: record.sequence }
  for (const fact of record.facts) {
    switch (fact.kind) {
      case "quest.created":
        next = { ...next, quests: new Map(next.quests).set(fact.quest.id, fact.quest) }
        break
      case "rule.created": {
        const rules = new Map(next.rules).set(fact.rule.id, fact.rule)
        next = { ...next, rules, rulesByAction: indexRules(rules) }
        break
      }
      case "webhook.created":
        next = { ...next, webhooks: new Map(next.webhooks).set(fact.webhook.id, fact.webhook) }
        break
    }
  }
  return next
}
