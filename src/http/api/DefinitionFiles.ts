/**
 * Definitions as a file: all settings, currencies, metrics, segments, streaks, badges, quests,
 * rules, boosts, leaderboards, leagues, experiments, items, goals and sources of an environment.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { type Noun, nouns, type prefixes } from "../../domain/project/Kinds.ts"
import { limits } from "../../Limits.ts"
import { NewBadge } from "./Badges.ts"
import { NewBoost } from "./Boosts.ts"
import { ApiKey, BodyBytesMax, distinct, list, OpenTo, oneOf, pattern } from "./Common.ts"
import { NewCurrency } from "./Currencies.ts"
import { DefinitionKey, fileStatus } from "./DefinitionShapes.ts"
import { changeHeaders, readHeaders } from "./EntityTags.ts"
import { NewExperiment } from "./Experiments.ts"
import { appliedFile, definitionsFile, fileDiff } from "./examples/definitionExamples.ts"
import {
  badgeId,
  boostId,
  currencyId,
  experimentId,
  goalId,
  itemId,
  leaderboardId,
  leagueId,
  metricId,
  questId,
  ruleId,
  segmentId,
  sourceId,
  streakId,
} from "./examples/exampleIds.ts"
import { NewGoal } from "./Goals.ts"
import { NewItem } from "./Items.ts"
import { NewLeaderboard } from "./Leaderboards.ts"
import { NewLeague } from "./Leagues.ts"
import { NewMetric } from "./Metrics.ts"
import { DefinitionConflict, readProblems, VersionConflict, writeProblems } from "./Problems.ts"
import { ProjectPatch } from "./Projects.ts"
import { NewQuest } from "./Quests.ts"
import { NewRule, strayBounds } from "./Rules.ts"
import { NewSegment } from "./Segments.ts"
import { NewSource } from "./Sources.ts"
import { NewStreak } from "./Streaks.ts"

const idOf = (prefix: (typeof prefixes)[Noun], example: string) =>
  Schema.optionalKey(
    pattern(
      new RegExp(`^${prefix}_[a-z0-9_-]{1,64}$`),
      `${prefix}_ and 1 to 64 small letters, digits, dashes and underscores`,
    ).annotate({
      description: `The id that a new definition gets; one that exists keeps its own. A \`badgeId\` of the file may name a badge of the file by it. Default: a new id.`,
      examples: [example],
    }),
  )

interface Named {
  readonly id?: string
  readonly key: string
}

const listOf = <S extends Schema.Top & { readonly Type: Named }>(
  item: S,
  max: number,
  noun: string,
) =>
  list(item, 0, max)
    .check(distinct<Named>(["key"], ({ key }) => key))
    .check(distinct<Named>(["id"], ({ id, key }) => id ?? key))
    .annotate({
      description: `The ${noun}; each replaces every member of the one with its key. Absent: they stay as they are.`,
    })

const key = DefinitionKey.annotate({
  description: "The key, which names the definition in each environment.",
  examples: ["first-steps"],
})

export const DefinitionsFile = Schema.Struct({
  settings: Schema.optionalKey(ProjectPatch),
  currencies: Schema.optionalKey(
    listOf(
      Schema.Struct({ id: idOf("cur", currencyId), ...NewCurrency.fields, key }).annotate({
        identifier: "FileCurrency",
      }),
      limits.currenciesMax,
      "currencies",
    ),
  ),
  metrics: Schema.optionalKey(
    listOf(
      Schema.Struct({ id: idOf("mtr", metricId), ...NewMetric.fields, key }).annotate({
        identifier: "FileMetric",
      }),
      limits.metricsMax,
      "metrics",
    ),
  ),
  segments: Schema.optionalKey(
    listOf(
      Schema.Struct({ id: idOf("seg", segmentId), ...NewSegment.fields, key }).annotate({
        identifier: "FileSegment",
      }),
      limits.segmentsMax,
      "segments",
    ),
  ),
  streaks: Schema.optionalKey(
    listOf(
      Schema.Struct({
        id: idOf("stk", streakId),
        ...NewStreak.fields,
        key,
        status: fileStatus,
      }).annotate({ identifier: "FileStreak" }),
      limits.streaksMax,
      "streaks",
    ),
  ),
  badges: Schema.optionalKey(
    listOf(
      Schema.Struct({
        id: idOf("bdg", badgeId),
        ...NewBadge.fields,
        key,
        status: fileStatus,
      }).annotate({
        identifier: "FileBadge",
      }),
      limits.badgesMax,
      "badges",
    ),
  ),
  quests: Schema.optionalKey(
    listOf(
      Schema.Struct({
        id: idOf("qst", questId),
        ...NewQuest.fields,
        key,
        status: fileStatus,
      }).annotate({ identifier: "FileQuest" }),
      limits.questsMax,
      "quests",
    ),
  ),
  rules: Schema.optionalKey(
    listOf(
      Schema.Struct({ id: idOf("rul", ruleId), ...NewRule.fields, key, status: fileStatus })
        .check(Schema.makeFilter(strayBounds, { toJsonSchema: () => [{}, true] }))
        .annotate({ identifier: "FileRule" }),
      limits.rulesMax,
      "rules",
    ),
  ),
  boosts: Schema.optionalKey(
    listOf(
      Schema.Struct({
        id: idOf("bst", boostId),
        ...NewBoost.fields,
        key,
        status: fileStatus,
      }).annotate({ identifier: "FileBoost" }),
      limits.boostsMax,
      "boosts",
    ),
  ),
  leaderboards: Schema.optionalKey(
    listOf(
      Schema.Struct({
        id: idOf("ldb", leaderboardId),
        ...NewLeaderboard.fields,
        key,
        status: fileStatus,
      }).annotate({ identifier: "FileLeaderboard" }),
      limits.boardsMax,
      "leaderboards",
    ),
  ),
  experiments: Schema.optionalKey(
    listOf(
      Schema.Struct({
        id: idOf("exp", experimentId),
        ...NewExperiment.fields,
        key,
        status: fileStatus,
      }).annotate({ identifier: "FileExperiment" }),
      limits.experimentsMax,
      "experiments",
    ),
  ),
  leagues: Schema.optionalKey(
    listOf(
      Schema.Struct({
        id: idOf("lga", leagueId),
        ...NewLeague.fields,
        key,
        status: fileStatus,
      }).annotate({ identifier: "FileLeague" }),
      limits.leaguesMax,
      "leagues",
    ),
  ),
  items: Schema.optionalKey(
    listOf(
      Schema.Struct({
        id: idOf("itm", itemId),
        ...NewItem.fields,
        key,
        status: fileStatus,
      }).annotate({ identifier: "FileItem" }),
      limits.itemsMax,
      "items",
    ),
  ),
  goals: Schema.optionalKey(
    listOf(
      Schema.Struct({
        id: idOf("gol", goalId),
        ...NewGoal.fields,
        key,
        status: fileStatus,
      }).annotate({ identifier: "FileGoal" }),
      limits.goalsMax,
      "goals",
    ),
  ),
  sources: Schema.optionalKey(
    listOf(
      Schema.Struct({
        id: idOf("src", sourceId),
        ...NewSource.fields,
        key,
        status: fileStatus,
      }).annotate({ identifier: "FileSource" }),
      limits.sourcesMax,
      "sources, without their secrets",
    ),
  ),
}).annotate({
  identifier: "DefinitionsFile",
  description:
    "Definitions of an environment. Members with their default are left out; definitions that are archived or over are not part of it.",
  examples: [definitionsFile],
})

const ApplyRequest = Schema.Struct({
  definitions: DefinitionsFile,
  delete: Schema.optionalKey(
    Schema.Boolean.annotate({
      description:
        "Whether definitions that the file does not name are archived, of the kinds that it has. Default `false`.",
      examples: [false],
    }),
  ),
}).annotate({
  identifier: "ApplyDefinitions",
  examples: [{ definitions: definitionsFile }],
})

const change = {
  op: oneOf(["create", "update", "delete"]).annotate({
    description: "`delete`: the definition is archived.",
    examples: ["update"],
  }),
  kind: oneOf(["settings", ...nouns]).annotate({
    description: "The kind of definition.",
    examples: ["badge"],
  }),
  id: Schema.NullOr(Schema.String).annotate({
    description: "The id here; null for settings.",
    examples: [badgeId],
  }),
  key: Schema.NullOr(Schema.String).annotate({
    description: "The key; null for settings.",
    examples: ["first-lesson"],
  }),
  name: Schema.String.annotate({
    description: "The name, the quest's title, or the rule's action.",
    examples: ["First lesson"],
  }),
}

const counts = {
  created: Schema.Int.annotate({ description: "Number of new definitions.", examples: [1] }),
  updated: Schema.Int.annotate({ description: "Number of changed definitions.", examples: [1] }),
  deleted: Schema.Int.annotate({ description: "Number of removed definitions.", examples: [0] }),
}

const AppliedDefinitions = Schema.Struct({
  ...counts,
  changes: Schema.Array(Schema.Struct(change)).annotate({ description: "In the order of effect." }),
}).annotate({
  identifier: "AppliedDefinitions",
  description: "The changes made, all in one record; none where all was equal.",
  examples: [appliedFile],
})

const DefinitionsDiff = Schema.Struct({
  version: Schema.Int.annotate({
    description:
      "The version of all definitions together, which is also the `ETag`: one more with each change. Apply the file with it as `If-Match` to make these changes or none.",
    examples: [7],
  }),
  ...counts,
  changes: Schema.Array(
    Schema.Struct({
      ...change,
      members: Schema.Array(
        Schema.Struct({
          name: Schema.String.annotate({ description: "The member.", examples: ["name"] }),
          before: Schema.NullOr(Schema.String).annotate({
            description: "Its JSON, as in a file; null: absent.",
            examples: [null],
          }),
          after: Schema.NullOr(Schema.String).annotate({
            description: "Its JSON, as in a file; null: absent.",
            examples: ["50"],
          }),
        }),
      ).annotate({ description: "The members that differ." }),
    }),
  ).annotate({ description: "In the order of effect." }),
}).annotate({
  identifier: "DefinitionsDiff",
  description: "The changes that applying the file would make now.",
  examples: [fileDiff],
})

const file = {
  payload: ApplyRequest,
  error: [...writeProblems, DefinitionConflict],
} as const

export const DefinitionFiles = HttpApiGroup.make("definitions")
  .add(
    HttpApiEndpoint.get("export", "/v1/definitions", {
      headers: readHeaders,
      success: DefinitionsFile,
      error: readProblems,
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Export definitions",
          description:
            "Returns settings, currencies, metrics, segments, streaks, badges, quests, rules, boosts, leaderboards, leagues, experiments, items, goals and sources in the form that diff and apply take, to keep them in a repository and to bring them from sandbox to production.",
        }),
      ),
    HttpApiEndpoint.post("diff", "/v1/definitions/diff", {
      ...file,
      success: DefinitionsDiff,
    })
      .annotate(OpenTo, [])
      .annotate(BodyBytesMax, limits.definitionsBytesMax)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Compare definitions with a file",
          description:
            "Returns the changes that applying the file would make now, and makes none. It is refused where applying would be refused. An `Idempotency-Key` is ignored.",
        }),
      ),
    HttpApiEndpoint.post("apply", "/v1/definitions/apply", {
      ...file,
      headers: changeHeaders,
      success: AppliedDefinitions,
      error: [...file.error, VersionConflict],
    })
      .annotate(OpenTo, [])
      .annotate(BodyBytesMax, limits.definitionsBytesMax)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Apply a file of definitions",
          description: `Makes the definitions of the environment those of the file: all at once, or nothing and every fault. Definitions are found by key; one with a new key is created. Definitions that the file does not name stay, unless \`delete\` is true. Applying a file again changes nothing. With the \`ETag\` of a comparison as \`If-Match\`, the file is applied only if nothing has changed since (412 \`version_conflict\`). A file has at most ${limits.definitionsBytesMax} bytes, and changes at most ${limits.definitionChangesMax} definitions at once.`,
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Definitions",
      description:
        "Settings, currencies, metrics, segments, streaks, badges, quests, rules, boosts, leaderboards, leagues, experiments, items, goals and sources as one file.",
    }),
  )
