/** A file of definitions, and what it changes. */
import { badgeId, ruleId } from "./Ids.ts"

export const definitionsFile = {
  settings: { timezone: "Europe/Berlin" },
  badges: [{ id: badgeId, name: "First lesson", criteria: { kind: "xp", target: 50 } }],
  quests: [
    {
      id: "qst_first-steps",
      title: "First steps",
      reward: { xp: 100, badgeId },
      steps: [{ key: "lessons", action: "LESSON_DONE", target: 5 }],
    },
  ],
  rules: [
    {
      id: ruleId,
      action: "LESSON_DONE",
      reward: { xp: 50 },
      limit: { times: 20, per: "day" },
    },
  ],
} as const

const quest = {
  op: "create",
  kind: "quest",
  id: "qst_first-steps",
  name: "First steps",
} as const
const badge = { op: "update", kind: "badge", id: badgeId, name: "First lesson" } as const
const counts = { created: 1, updated: 1, deleted: 0 } as const

export const appliedFile = { ...counts, changes: [badge, quest] } as const

export const fileDiff = {
  ...counts,
  changes: [
    {
      ...badge,
      members: [
        {
          name: "criteria",
          before: '{"kind":"xp","target":100}',
          after: '{"kind":"xp","target":50}',
        },
      ],
    },
    {
      ...quest,
      members: [{ name: "title", before: null, after: '"First steps"' }],
    },
  ],
} as const
