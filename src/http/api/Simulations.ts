/** Events that are tried: the outcome that they would have, with definitions as they are or with drafts. */
import { Schema } from "effect"
import { limits } from "../../Limits.ts"
import { NewBadge } from "./Badges.ts"
import { faultAt, oneOf, text } from "./Checks.ts"
import { Action, Earned, LevelChange, Time, UserId } from "./Common.ts"
import { Event, matched, QuestOutcome, StreakOutcome, withheld } from "./Events.ts"
import { simulation } from "./examples/Events.ts"
import { badgeId, questId, ruleId } from "./examples/Ids.ts"
import { ProjectPatch } from "./ProjectSettings.ts"
import { NewQuest } from "./Quests.ts"
import { NewRule } from "./Rules.ts"

const Given = Schema.Struct({
  source: Schema.Struct({
    kind: oneOf(["rule", "quest", "criteria"]).annotate({
      description: "The source: a rule, a completed quest, or a badge's own criteria.",
      examples: ["rule"],
    }),
    id: Schema.NullOr(Schema.String).annotate({
      description: "The id of the rule or quest.",
      examples: ["rul_01a1fc1e64c07345932e273286b5ca30"],
    }),
  }).annotate({ description: "The source." }),
  xp: Schema.Int.annotate({ description: "Experience points.", examples: [50] }),
  points: Schema.Int.annotate({ description: "Points.", examples: [0] }),
  badges: Schema.Array(Schema.String).annotate({
    description: "The ids of badges.",
    examples: [[]],
  }),
}).annotate({ identifier: "Given", description: "The amounts and badges from one source." })

export const Simulation = Schema.Struct({
  userId: UserId,
  action: Action,
  duplicate: Schema.Boolean.annotate({
    description:
      "Whether an earlier event has this `id`. The event would change nothing then, and the first outcome is returned.",
    examples: [false],
  }),
  occurredAt: Time,
  xp: Earned,
  points: Earned,
  level: LevelChange,
  badges: Schema.Array(
    Schema.Struct({
      id: Schema.String.annotate({ description: "The badge's id." }),
      name: Schema.String.annotate({ description: "Name for people." }),
    }),
  ).annotate({
    description: "Badges that the event would earn.",
    examples: [[{ id: "bdg_01a1fc1e64c07345932e273286b5ca30", name: "First lesson" }]],
  }),
  quests: Schema.Array(QuestOutcome).annotate({
    description: "Quests that the event would count for.",
  }),
  streaks: Schema.Array(StreakOutcome).annotate({
    description: "Streaks that the event would extend.",
  }),
  matched,
  withheld,
  given: Schema.Array(Given).annotate({
    description: "The sources, in the order of their effect.",
  }),
}).annotate({
  identifier: "Simulation",
  description: "The outcome that an event would have.",
  examples: [simulation],
})

const replaced = (noun: string, id: string) =>
  Schema.optionalKey(
    text(1, limits.idCharactersMax).annotate({
      description: `The id of the ${noun} that the draft replaces. Default: the draft is a new ${noun}.`,
      examples: [id],
    }),
  )

/** An id of a replaced definition makes no sense without the draft. */
const strayIds = (preview: Readonly<Record<string, unknown>>) =>
  ["rule", "quest", "badge"].flatMap((noun) =>
    preview[noun] === undefined && preview[`${noun}Id`] !== undefined
      ? [faultAt([`${noun}Id`], "unknown_member", `requires a ${noun}`)]
      : [],
  )

export const PreviewRequest = Schema.Struct({
  event: Event,
  settings: Schema.optionalKey(ProjectPatch),
  badge: Schema.optionalKey(NewBadge),
  badgeId: replaced("badge", badgeId),
  quest: Schema.optionalKey(NewQuest),
  questId: replaced("quest", questId),
  rule: Schema.optionalKey(NewRule),
  ruleId: replaced("rule", ruleId),
})
  .check(Schema.makeFilter(strayIds, { toJsonSchema: () => [{}, true] }))
  .annotate({
    identifier: "PreviewRequest",
    description: "An event, and drafts of settings, a badge, a quest and a rule.",
    examples: [
      {
        event: { userId: "user-42", action: "LESSON_DONE", metadata: { score: 93 } },
        rule: { action: "LESSON_DONE", reward: { xp: 50 } },
      },
      {
        event: { userId: "user-42", action: "LESSON_DONE" },
        settings: { levelCurve: { kind: "linear", xpPerLevel: 500 } },
      },
    ],
  })
