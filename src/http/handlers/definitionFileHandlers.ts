/**
 * Definitions as a file: export, comparison with the present definitions, and application in one
 * record.
 */
import { Effect } from "effect"
import {
  applyDefinitions,
  type DefinitionsInput,
  isInFile,
} from "../../domain/decide/Definitions.ts"
import { decideProject } from "../../domain/decide/Project.ts"
import type { Badge, Quest, Rule } from "../../domain/project/Definition.ts"
import type { ProjectSettings, ProjectState } from "../../domain/project/Project.ts"
import type { Fact } from "../../domain/record/Record.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { DefinitionFiles, DefinitionsFile } from "../api/DefinitionFiles.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { newBadge } from "./badgeHandlers.ts"
import { newQuest } from "./questHandlers.ts"
import { newRule } from "./ruleHandlers.ts"
import { onlyIf, settingsChange, shownVersion } from "./Shapes.ts"

export const definitionFileHandlers = (
  engine: Engine["Service"],
): Handlers<typeof DefinitionFiles> => ({
  export: {
    handle: ({ caller, headers }) =>
      Effect.map(engine.readProject(caller.environment), (state) =>
        shownVersion(
          fileOf(state, engine.timeIn(caller.environment)),
          state.definitionsVersion,
          headers,
        ),
      ),
  },
  diff: {
    handle: ({ caller, payload }) =>
      Effect.gen(function* () {
        const state = yield* engine.readProject(caller.environment)
        const facts = yield* Effect.fromResult(
          applyDefinitions(state, commandOf(payload), engine.timeIn(caller.environment)),
        )
        const changes = facts.map((fact) => ({ ...changeOf(fact), ...diffOf(state, fact) }))
        const { definitionsVersion: version } = state
        return { body: { version, ...countsOf(changes), changes }, version }
      }),
  },
  apply: {
    handle: ({ caller, headers, idempotency, payload }) =>
      Effect.gen(function* () {
        const command = onlyIf(headers, commandOf(payload))
        if (idempotency === undefined) {
          const state = yield* engine.readProject(caller.environment)
          const facts = yield* Effect.fromResult(decideProject(state, command, engine.now()))
          // The file changes nothing, so no record is written.
          if (facts.length === 0) return { body: nothing }
        }
        const asked = yield* engine.askProject(caller.environment, command, idempotency)
        const changes = asked.reply.facts.map(changeOf)
        return { body: { ...countsOf(changes), changes }, replayed: asked.replayed }
      }),
  },
})

type File = typeof DefinitionsFile.Type

const nothing = { created: 0, updated: 0, deleted: 0, changes: [] }

const commandOf = ({
  definitions: { badges, quests, rules, settings },
  delete: removes = false,
}: {
  readonly definitions: File
  readonly delete?: boolean
}) => {
  const definitions: DefinitionsInput = {
    ...(settings && { settings: settingsChange(settings) }),
    ...(badges && { badges: badges.map(({ id, ...badge }) => newBadge(badge, id)) }),
    ...(quests && { quests: quests.map(questInput) }),
    ...(rules && { rules: rules.map(({ id, ...rule }) => newRule(rule, id)) }),
  }
  return { kind: "applyDefinitions", definitions, removes } as const
}

const questInput = ({ id, status, ...quest }: NonNullable<File["quests"]>[number]) => {
  const { set: _, ...members } = newQuest(quest, id)
  if (status === undefined) return members
  return { ...members, set: status === "active" ? ("published" as const) : status }
}

const fileOf = ({ badges, quests, rules, settings }: ProjectState, now: number): File => ({
  settings: fileSettings(settings),
  badges: [...badges.values()].filter(({ archived }) => !archived).map(fileBadge),
  quests: [...quests.values()].filter((quest) => isInFile(quest, now)).map(fileQuest),
  rules: [...rules.values()].map(fileRule),
})

type Item<Kind extends "badges" | "quests" | "rules"> = NonNullable<File[Kind]>[number]

/**
 * `members` without values that are undefined, null, false or empty: a file leaves out defaults.
 */
const given = <A extends object>(members: A) =>
  Object.fromEntries(
    Object.entries(members).filter(
      ([, value]) =>
        value !== undefined &&
        value !== null &&
        value !== false &&
        (typeof value !== "object" || Object.keys(value).length > 0),
    ),
  )

const fileSettings = (settings: ProjectSettings): NonNullable<File["settings"]> => {
  const { clientActions = [], levelCurve, name, streaks, timezone, version: _, ...rest } = settings
  const named = name !== null && { name }
  const shown = streaks.map(({ freezesBefore: _, ...streak }) => streak)
  return { ...named, timezone, levelCurve, streaks: shown, clientActions, ...rest }
}

const fileBadge = ({ criteria, description, icon, id, name, secret }: Badge) =>
  ({
    id,
    name,
    ...given({ description, icon, secret }),
    criteria: given(criteria),
  }) as Item<"badges">

const fileReward = ({ badgeId, points, xp }: Rule["reward"]) =>
  given({ xp: xp || undefined, points: points || undefined, badgeId })

const fileQuest = (quest: Quest) => {
  const { endsAt, id, metadata, prerequisites, recurrence, reward, set, startsAt, title } = quest
  return {
    id,
    title,
    ...given({ description: quest.description }),
    ...(set !== "published" && { status: set }),
    reward: { xp: reward.xp, ...fileReward(reward) },
    ...given({
      steps: quest.steps.map(({ since: _, where, ...step }) => ({ ...step, ...given({ where }) })),
      startsAt: startsAt === null ? null : isoTime(startsAt),
      endsAt: endsAt === null ? null : isoTime(endsAt),
      recurrence: recurrence === "none" ? null : recurrence,
      prerequisites,
      metadata,
    }),
  } as Item<"quests">
}

const fileRule = ({ enabled, multiplier, reward, ...rule }: Rule) => {
  const { action, cooldownSeconds, id, limit, where } = rule
  return {
    id,
    action,
    ...given({ where }),
    reward: fileReward(reward),
    ...(multiplier !== null && {
      multiplierPath: multiplier.path,
      ...(multiplier.min !== 0 && { multiplierMin: multiplier.min }),
      ...(multiplier.max !== limits.multiplierMax && { multiplierMax: multiplier.max }),
    }),
    ...given({ limit, cooldownSeconds }),
    ...(!enabled && { enabled }),
  } as Item<"rules">
}

/** The change that a fact of an applied file describes. */
const changeOf = (fact: Fact) => {
  switch (fact.kind) {
    case "badge.created":
    case "badge.updated": {
      const { archived, id, name } = fact.badge
      const op = fact.kind === "badge.created" ? "create" : archived ? "delete" : "update"
      return { op, kind: "badge", id, name } as const
    }
    case "quest.created":
    case "quest.updated": {
      const { id, set, title } = fact.quest
      const isNew = fact.kind === "quest.created"
      const op = isNew ? "create" : set === "archived" ? "delete" : "update"
      return { op, kind: "quest", id, name: title } as const
    }
    case "rule.created":
    case "rule.updated": {
      const op = fact.kind === "rule.created" ? "create" : "update"
      return { op, kind: "rule", id: fact.rule.id, name: fact.rule.action } as const
    }
    case "rule.deleted":
      return { op: "delete", kind: "rule", id: fact.ruleId, name: fact.ruleId } as const
    default:
      return { op: "update", kind: "settings", id: null, name: "settings" } as const
  }
}

type Change = ReturnType<typeof changeOf>

const countsOf = (changes: ReadonlyArray<Change>) => {
  const count = (wanted: Change["op"]) => changes.filter(({ op }) => op === wanted).length
  return { created: count("create"), updated: count("update"), deleted: count("delete") }
}

/** The members that a fact changes, in the form of the file. */
const diffOf = (state: ProjectState, fact: Fact) => {
  switch (fact.kind) {
    case "badge.created":
    case "badge.updated": {
      const before = state.badges.get(fact.badge.id)
      return differing(
        before && fileBadge(before),
        fact.badge.archived ? {} : fileBadge(fact.badge),
      )
    }
    case "quest.created":
    case "quest.updated": {
      const before = state.quests.get(fact.quest.id)
      const isOver = fact.quest.set === "archived"
      return differing(before && fileQuest(before), isOver ? {} : fileQuest(fact.quest))
    }
    case "rule.created":
    case "rule.updated": {
      const before = state.rules.get(fact.rule.id)
      return differing(before && fileRule(before), fileRule(fact.rule))
    }
    case "rule.deleted":
      return differing(fileRule(state.rules.get(fact.ruleId)!), {})
    case "project.updated":
      return differing(fileSettings(state.settings), fileSettings(fact.settings))
    default:
      return { members: [] }
  }
}

const differing = (before: object = {}, after: object) => {
  const [was, is] = [before, after].map((each) => new Map(Object.entries(each)))
  const names = [...new Set([...was!.keys(), ...is!.keys()])].filter((name) => name !== "id")
  return {
    members: names.flatMap((name) => {
      const [before, after] = [was!, is!].map((each) =>
        each.has(name) ? JSON.stringify(each.get(name)) : null,
      )
      return before === after ? [] : [{ name, before: before!, after: after! }]
    }),
  }
}
