/** Definitions with everything that a test does not care about. */
import type { Badge, Quest, Rule } from "../../src/domain/project/Definition.ts"
import type { ProjectState } from "../../src/domain/project/Project.ts"
import { applyProject } from "../../src/domain/record/applyProject.ts"
import type { Fact } from "../../src/domain/record/Record.ts"

type Partly<A extends { readonly reward: unknown }> = Partial<Omit<A, "reward">> & {
  readonly reward?: Partial<A["reward"]>
}

const gives = { xp: 0, points: 0, badgeId: null }

export const ruleWith = ({ reward, ...rest }: Partly<Rule>): Rule => ({
  id: "rul_1",
  action: "TAP",
  where: [],
  reward: { ...gives, ...(reward ?? { xp: 1 }) },
  multiplier: null,
  limit: null,
  cooldownSeconds: null,
  enabled: true,
  version: 1,
  createdAt: 0,
  updatedAt: 0,
  ...rest,
})

export const questWith = ({ reward, ...rest }: Partly<Quest>): Quest => ({
  id: "qst_1",
  title: "A quest",
  description: null,
  set: "published",
  reward: { ...gives, ...reward },
  steps: [],
  startsAt: null,
  endsAt: null,
  recurrence: "none",
  prerequisites: [],
  metadata: {},
  version: 1,
  createdAt: 0,
  updatedAt: 0,
  ...rest,
})

export const badgeWith = (badge: Partial<Badge>): Badge => ({
  id: "bdg_1",
  name: "A badge",
  description: null,
  icon: null,
  criteria: { kind: "manual" },
  secret: false,
  archived: false,
  version: 1,
  createdAt: 0,
  updatedAt: 0,
  ...badge,
})

/** `facts` with the versions that follow those of the project. */
export const versioned = (
  { badges, quests, rules, settings }: ProjectState,
  facts: ReadonlyArray<Fact>,
): ReadonlyArray<Fact> => {
  const versions = new Map<string, number>([["settings", settings.version]])
  const kinds = { rule: rules, quest: quests, badge: badges }
  for (const [kind, all] of Object.entries(kinds)) {
    for (const { id, version } of all.values()) versions.set(`${kind} ${id}`, version)
  }
  const next = (name: string): number => {
    const version = (versions.get(name) ?? 0) + 1
    versions.set(name, version)
    return version
  }
  return facts.map((fact) => {
    switch (fact.kind) {
      case "rule.created":
      case "rule.updated":
        return { ...fact, rule: { ...fact.rule, version: next(`rule ${fact.rule.id}`) } }
      case "quest.created":
      case "quest.updated":
        return { ...fact, quest: { ...fact.quest, version: next(`quest ${fact.quest.id}`) } }
      case "badge.created":
      case "badge.updated":
        return { ...fact, badge: { ...fact.badge, version: next(`badge ${fact.badge.id}`) } }
      case "project.updated":
        return { ...fact, settings: { ...fact.settings, version: next("settings") } }
      default:
        return fact
    }
  })
}

/** The state of a project after one more record, of these facts. */
export const withFacts = (
  project: ProjectState,
  facts: ReadonlyArray<Fact>,
  sequence = project.sequence + 1,
  at = 0,
): ProjectState =>
  applyProject(project, {
    sequence,
    at,
    subject: { actor: "project", environment: "p:sandbox" },
    cause: { kind: "request" },
    facts: versioned(project, facts),
  })
