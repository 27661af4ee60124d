/** What users can take on. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { questRecurrences, questStatuses } from "../../domain/project/Quest.ts"
import { limits } from "../../Limits.ts"
import { distinct, list, metadata, oneOf, text } from "./Checks.ts"
import {
  ApiKey,
  idempotencyHeaders,
  mergePatch,
  OpenTo,
  pageFields,
  pageQuery,
  Time,
  TimeIn,
} from "./Common.ts"
import {
  BadgeId,
  CountedAction,
  givenPoints,
  givenXp,
  Key,
  patchWords,
  Reward,
  RewardPatch,
  ShownWhere,
  Target,
  Where,
} from "./Definitions.ts"
import { countedQuest, quest, questPage } from "./examples/Definitions.ts"
import { questId } from "./examples/Ids.ts"
import {
  ChangeConflict,
  DefinitionConflict,
  QuestNotFound,
  readProblems,
  UseConflict,
  writeProblems,
} from "./Problems.ts"

const before = "qst_01a1fc0b7d10766ab1c90c8a1f4de2b7"

const Title = text(1, limits.titleCharactersMax).annotate({
  description: "What people call it.",
  examples: ["First steps"],
})
const Description = text(0, limits.descriptionCharactersMax, "multiple").annotate({
  description: "What people are told of it.",
  examples: ["Finish three lessons with 90 points or more"],
})

const StepKey = Key.annotate({
  description: "Your name of the step, once in a quest.",
  examples: ["lessons"],
})

export const NewQuestStep = Schema.Struct({
  key: StepKey,
  action: CountedAction,
  where: Schema.optionalKey(Where),
  target: Target.annotate({ description: "How many such events complete it.", examples: [3] }),
}).annotate({
  identifier: "NewQuestStep",
  description: "What completes a step: so many events with this action that satisfy `where`.",
})

export const QuestStep = Schema.Struct({
  key: StepKey,
  action: CountedAction,
  where: ShownWhere,
  target: Target.annotate({ description: "How many such events complete it.", examples: [3] }),
}).annotate({ identifier: "QuestStep" })

const Steps = list(NewQuestStep, 0, limits.questStepsMax)
  .check(distinct<typeof NewQuestStep.Type>(["key"], ({ key }) => key))
  .annotate({
    description:
      "When all are done, the quest completes by itself. Without steps, a `QUEST_COMPLETE` event that names the quest completes it.",
    examples: [
      [
        {
          key: "lessons",
          action: "LESSON_DONE",
          where: [{ path: "score", op: "gte", value: 90 }],
          target: 3,
        },
      ],
    ],
  })

const Recurrence = oneOf(questRecurrences).annotate({
  description:
    "A quest that recurs starts anew each day, ISO week or month of the project's time zone, and gives its reward once in each. Default `none`.",
  examples: ["none"],
})

const Prerequisites = list(text(1, limits.idCharactersMax), 0, limits.prerequisitesMax)
  .check(distinct<string>([], (prerequisite) => prerequisite))
  .annotate({
    description:
      "Ids of quests that a user must have completed before; until then this one collects nothing. They may not lead back to it.",
    examples: [[before]],
  })

const QuestMetadata = metadata.annotate({
  description: "Whatever you want to keep with it.",
  examples: [{ icon: "footprints" }],
})

const StartsAt = TimeIn.annotate({
  description: "When it becomes active; default: when it is published.",
})
const EndsAt = TimeIn.annotate({
  description: "When it ends, after `startsAt`; who is midway then has missed it. Default: never.",
  examples: ["2026-12-01T00:00:00.000Z"],
})

export const NewQuest = Schema.Struct({
  title: Title,
  reward: Schema.Struct({
    xp: givenXp,
    points: Schema.optionalKey(givenPoints),
    badgeId: Schema.optionalKey(BadgeId),
  }).annotate({ identifier: "NewQuestReward", description: "What completing it gives." }),
  description: Schema.optionalKey(Description),
  steps: Schema.optionalKey(Steps),
  startsAt: Schema.optionalKey(StartsAt),
  endsAt: Schema.optionalKey(EndsAt),
  recurrence: Schema.optionalKey(Recurrence),
  prerequisites: Schema.optionalKey(Prerequisites),
  status: Schema.optionalKey(
    oneOf(["draft", "active"]).annotate({
      description:
        "A draft is there for you only. `active` publishes it: with a `startsAt` in the future it is `scheduled` until then. Default `active`.",
      examples: ["draft"],
    }),
  ),
  metadata: Schema.optionalKey(QuestMetadata),
}).annotate({
  identifier: "NewQuest",
  examples: [
    { title: "First steps", reward: { xp: 100 } },
    {
      title: "Three good lessons",
      reward: { xp: 100, points: 10 },
      steps: [
        {
          key: "lessons",
          action: "LESSON_DONE",
          where: [{ path: "score", op: "gte", value: 90 }],
          target: 3,
        },
      ],
      recurrence: "weekly",
    },
  ],
})

export const QuestPatch = Schema.Struct({
  title: Schema.optionalKey(Title),
  reward: Schema.optionalKey(RewardPatch),
  description: Schema.optionalKey(Schema.NullOr(Description)),
  steps: Schema.optionalKey(Schema.NullOr(Steps)),
  startsAt: Schema.optionalKey(Schema.NullOr(StartsAt)),
  endsAt: Schema.optionalKey(Schema.NullOr(EndsAt)),
  recurrence: Schema.optionalKey(Schema.NullOr(Recurrence)),
  prerequisites: Schema.optionalKey(Schema.NullOr(Prerequisites)),
  status: Schema.optionalKey(
    oneOf(questStatuses).annotate({
      description: "`active`, `paused` or `archived`; the others follow the clock.",
      examples: ["paused"],
    }),
  ),
  metadata: Schema.optionalKey(Schema.NullOr(QuestMetadata)),
}).annotate({ identifier: "QuestPatch", examples: [{ status: "paused" }] })

const fields = {
  id: Schema.String.annotate({ description: "Laurel's id of the quest.", examples: [questId] }),
  title: Schema.String.annotate({
    description: "What people call it.",
    examples: ["First steps"],
  }),
  description: Schema.NullOr(Schema.String).annotate({
    description: "What people are told of it.",
    examples: ["Finish the first lesson"],
  }),
  status: oneOf(questStatuses).annotate({
    description:
      "`draft` → `scheduled` → `active` ⇄ `paused` → `ended` → `archived`. `scheduled`, `active` and `ended` follow the clock.",
    examples: ["active"],
  }),
  reward: Reward,
  steps: Schema.Array(QuestStep).annotate({
    description: "When all are done, the quest completes by itself.",
  }),
  startsAt: Schema.NullOr(Time).annotate({
    description: "When it becomes active; null: when it is published.",
    examples: [null],
  }),
  endsAt: Schema.NullOr(Time).annotate({
    description: "When it ends; null: never.",
    examples: ["2026-12-01T00:00:00.000Z"],
  }),
  recurrence: oneOf(questRecurrences).annotate({
    description: "Whether it starts anew each day, ISO week or month.",
    examples: ["none"],
  }),
  prerequisites: Schema.Array(Schema.String).annotate({
    description: "Ids of quests that a user must have completed before.",
    examples: [[]],
  }),
  metadata: Schema.Record(Schema.String, Schema.Unknown).annotate({
    description: "Whatever you keep with it.",
    examples: [{ icon: "footprints" }],
  }),
  createdAt: Time,
  updatedAt: Time,
}

export const Quest = Schema.Struct(fields).annotate({
  identifier: "Quest",
  description: "What users can complete, with what it gives.",
  examples: [quest],
})

export const CountedQuest = Schema.Struct({
  ...fields,
  counts: Schema.Struct({
    inProgress: Schema.Int.annotate({
      description: "Users who have begun it and are not done, in the period they began it in.",
      examples: [12],
    }),
    completed: Schema.Int.annotate({
      description: "Users who have completed it, each counted once.",
      examples: [340],
    }),
  }).annotate({ identifier: "QuestCounts", description: "How many users take it on." }),
}).annotate({
  identifier: "CountedQuest",
  description: "A quest, and how many users take it on.",
  examples: [countedQuest],
})

export const QuestPage = Schema.Struct({
  quests: Schema.Array(Quest).annotate({ description: "In the order of their creation." }),
  ...pageFields,
}).annotate({
  identifier: "QuestPage",
  description: "A page of the quests.",
  examples: [questPage],
})

const params = {
  id: text(1, limits.idCharactersMax).annotate({
    description: "The quest's id.",
    examples: [questId],
  }),
}

export const Quests = HttpApiGroup.make("quests")
  .add(
    HttpApiEndpoint.post("create", "/v1/quests", {
      headers: idempotencyHeaders,
      payload: NewQuest,
      success: Quest.pipe(HttpApiSchema.status(201)),
      error: [...writeProblems, DefinitionConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a quest",
          description: `While it is active, each user can complete it once, or once in each period if it recurs: by events that its steps count, or, without steps, with a \`QUEST_COMPLETE\` event that names it. An environment holds at most ${limits.questsMax} quests that are not archived.`,
        }),
      ),
    HttpApiEndpoint.get("list", "/v1/quests", {
      query: {
        status: Schema.optionalKey(
          oneOf(questStatuses).annotate({
            description: "Only quests with this status; default: all but the archived ones.",
            examples: ["active"],
          }),
        ),
        ...pageQuery,
      },
      success: QuestPage,
      error: readProblems,
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "List quests",
          description:
            "The quests of the key's project and environment: all that are not archived, or all with one status as it is now.",
        }),
      ),
    HttpApiEndpoint.get("get", "/v1/quests/:id", {
      params,
      success: CountedQuest,
      error: [...readProblems, QuestNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a quest",
          description:
            "Also an archived one, with how many users are midway in it and how many have completed it.",
        }),
      ),
    HttpApiEndpoint.patch("update", "/v1/quests/:id", {
      params,
      payload: mergePatch(QuestPatch),
      success: Quest,
      error: [...writeProblems, QuestNotFound, ChangeConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Change a quest",
          description: `${patchWords}

Users who are midway keep what they have: steps are told apart by their key, so a new step begins at 0, one that is gone is dropped, and one with another action or other conditions goes on from where it was. A target that is lowered below what a user has is met by the next event that counts. Another title and reward count for completions from now on. A start that is moved to later, a pause and new prerequisites hold users up, who then go on from where they were. An end ends it for who is midway (\`expired\`); where it is moved to later after that, they begin anew, and where it is moved before it has come, nothing happens to them. With another recurrence everybody begins anew, in its present period, also who had completed the quest. Who has completed it in this period stays so, whatever the steps are now.

\`status\` publishes a draft (\`active\`), pauses and resumes, or archives. Any other move is refused (409 \`invalid_transition\`), since \`scheduled\`, \`active\` and \`ended\` follow the clock: an \`endsAt\` of now ends the quest. An archived quest does not change any more.`,
        }),
      ),
    HttpApiEndpoint.delete("delete", "/v1/quests/:id", {
      params,
      success: HttpApiSchema.NoContent.annotate({ description: "It is archived." }),
      error: [...readProblems, QuestNotFound, UseConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Archive a quest",
          description:
            "Nobody can begin or complete it any more; users who are midway have missed it, and those who completed it keep what it gave. It still shows with its id, and in the list under `status=archived`. A quest that others have as prerequisite is not archived (409 `in_use`), since nobody could complete those any more: change them first. A second time → 404.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Quests", description: "What users can take on." }))
