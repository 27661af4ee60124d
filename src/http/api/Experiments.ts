/** Operations on experiments, which divide users into variants. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { shownRetentionDays } from "../../domain/user/ActivityOfAll.ts"
import { limits } from "../../Limits.ts"
import {
  ApiKey,
  counted,
  distinct,
  integer,
  list,
  OpenTo,
  oneOf,
  pageFields,
  pattern,
  Time,
  text,
} from "./Common.ts"
import {
  DefinitionKey,
  Key,
  listQuery,
  newMembers,
  patchMembers,
  patchWords,
  pathOf,
  shownMembers,
  statusWords,
} from "./DefinitionShapes.ts"
import { definitionEndpoints } from "./definitionEndpoints.ts"
import { experimentId } from "./examples/exampleIds.ts"
import {
  experiment,
  experimentPage,
  experimentResults,
  shortResult,
} from "./examples/experimentExamples.ts"
import {
  ChangeConflict,
  ExperimentNotFound,
  readProblems,
  UseConflict,
  writeProblems,
} from "./Problems.ts"

const Name = text(1, limits.titleCharactersMax).annotate({
  description: "Name for people.",
  examples: ["Daily goal"],
})

const Variant = Schema.Struct({
  key: Key.annotate({
    description: "Its key, which segments and results name.",
    examples: ["control"],
  }),
  weight: integer(1, limits.experimentWeightMax).annotate({
    description: "Its share of the users is this weight of the sum of all weights.",
    examples: [1],
  }),
}).annotate({
  identifier: "ExperimentVariant",
  description: "A variant, and its weight.",
  examples: [{ key: "control", weight: 1 }],
})

const Variants = list(Variant, limits.experimentVariantsMin, limits.experimentVariantsMax)
  .check(distinct<{ readonly key: string }>(["key"], ({ key }) => key))
  .annotate({
    description:
      "The variants. The first is the control, with which the others are compared. Once the experiment is published only weights change, for users who enter from then on.",
    examples: [experiment.variants],
  })

const Metric = DefinitionKey.annotate({
  description:
    "The key of the metric that the experiment is meant to change. Laurel notes what each user has of it when the user enters, so that only what follows is compared. It is fixed once the experiment is published. Default: none.",
  examples: ["lessons"],
})

const segment = {
  description:
    "The key of an active segment, the audience: only its members enter. Default: every user.",
  examples: ["beginners"],
} as const

export const NewExperiment = Schema.Struct({
  ...newMembers("name"),
  segment: newMembers("name").segment.annotate(segment),
  name: Name,
  variants: Variants,
  metric: Schema.optionalKey(Metric),
}).annotate({
  identifier: "NewExperiment",
  description: "An experiment to create.",
  examples: [
    {
      name: "Daily goal",
      variants: [
        { key: "control", weight: 1 },
        { key: "goal", weight: 1 },
      ],
      endsAt: "2026-12-01T00:00:00Z",
    },
  ],
})

export const ExperimentPatch = Schema.Struct({
  ...patchMembers,
  segment: patchMembers.segment.annotate(segment),
  name: Schema.optionalKey(Name),
  variants: Schema.optionalKey(Variants),
  metric: Schema.optionalKey(Schema.NullOr(Metric)),
}).annotate({
  identifier: "ExperimentPatch",
  examples: [{ endsAt: "2026-12-15T00:00:00Z" }],
})

export const Experiment = Schema.Struct({
  id: Schema.String.annotate({
    description: "Laurel's id of the experiment.",
    examples: [experimentId],
  }),
  ...shownMembers,
  segment: Schema.NullOr(Schema.String).annotate({
    description: "The key of the segment that is the audience; null: every user.",
    examples: [null],
  }),
  name: Schema.String.annotate({ description: "Name for people.", examples: ["Daily goal"] }),
  variants: Schema.Array(Variant).annotate({
    description: "The variants; the first is the control.",
    examples: [experiment.variants],
  }),
  metric: Schema.NullOr(Schema.String).annotate({
    description: "The key of the metric that it is meant to change; null: none is named.",
    examples: [null],
  }),
  weightsChangedAt: Schema.NullOr(Time).annotate({
    description: "When the weights were last changed after the publication; null: never.",
    examples: [null],
  }),
}).annotate({
  identifier: "Experiment",
  description: "An experiment: users who enter it get a variant, which stays theirs.",
  examples: [experiment],
})

const params = pathOf("experiment", experimentId)

/** The names of retention, such as `D7`, and their days. */
export const retentionDays = new Map(shownRetentionDays.map((days) => [`D${days}`, days]))

const resultsQuery = {
  metric: Schema.optionalKey(
    DefinitionKey.annotate({
      description:
        "The key of the metric to compare: the mean of the users' totals, or with `atLeast` a share. Default: the experiment's metric; retention of day 7, if it names none.",
      examples: ["lessons"],
    }),
  ),
  atLeast: Schema.optionalKey(
    pattern(/^[1-9]\d{0,8}$/, "a whole number from 1 to 999999999").annotate({
      description: "Compares the share of users who have at least so much of the metric.",
      examples: ["1"],
    }),
  ),
  retention: Schema.optionalKey(
    oneOf([...retentionDays.keys()]).annotate({
      description:
        "Compares, in place of a metric, the share of users who were active again on exactly this day after they entered.",
      examples: ["D7"],
    }),
  ),
  format: Schema.optionalKey(
    oneOf(["json", "csv"]).annotate({
      description:
        "`csv`: the reply is a table, `text/csv`, with a row for each variant. Default `json`.",
      examples: ["json"],
    }),
  ),
}

export const ExperimentResultsQuery = Schema.Struct(resultsQuery)

const figure = (description: string, example: number) =>
  Schema.Finite.annotate({ description, examples: [example] })
const count = (description: string, example: number) =>
  Schema.Int.annotate({ description, examples: [example] })

const bounds = {
  low: figure("Its lower end.", 0.0189),
  high: figure("Its upper end.", 0.0809),
}

/** Why results have to be read with care. */
export const resultWarnings = [
  "not_ended",
  "sample_ratio_mismatch",
  "weights_changed",
  "few_users",
] as const

const VariantResult = Schema.Struct({
  key: Schema.String.annotate({ description: "The key of the variant.", examples: ["goal"] }),
  weight: count("Its weight.", 1),
  exposed: count("Users who entered with this variant.", 1990),
  users: count(
    "Those of them who count. For retention, the day has ended for them; of a maximum, a minimum or a latest value, they have one.",
    1880,
  ),
  value: Schema.NullOr(Schema.Finite).annotate({
    description: "The mean or the share; null: no user counts.",
    examples: [0.41],
  }),
  interval: Schema.NullOr(
    Schema.Struct(bounds).annotate({ identifier: "ResultInterval", description: "An interval." }),
  ).annotate({
    description:
      "The 95 % interval of the value, by Wilson for a share and by Student for a mean; null: there are too few users.",
  }),
  difference: Schema.NullOr(
    Schema.Struct({
      value: figure("The value less that of the control.", 0.05),
      ...bounds,
      excludesZero: Schema.Boolean.annotate({
        description: "Whether the interval leaves out 0.",
        examples: [true],
      }),
    }).annotate({
      identifier: "ResultDifference",
      description: "A difference to the control, and its interval.",
    }),
  ).annotate({
    description:
      "The difference to the control, with its 95 % interval: by Newcombe's hybrid of Wilson intervals for a share, by Welch for a mean. Null: it is the control, there are too few users, or each variant has one value for all its users.",
  }),
}).annotate({ identifier: "VariantResult", description: "The result of a variant." })

/** What is compared, and the state of the count. */
const compared = {
  metric: Schema.NullOr(Schema.String).annotate({
    description: "The key of the metric; null: retention is compared.",
    examples: [null],
  }),
  atLeast: Schema.NullOr(Schema.Finite).annotate({
    description: "How much of it is asked for; null: the mean is compared.",
    examples: [null],
  }),
  retention: Schema.NullOr(Schema.String).annotate({
    description: "The day of retention; null: a metric is compared.",
    examples: ["D7"],
  }),
  measure: oneOf(["mean", "share"]).annotate({
    description: "What the values are.",
    examples: ["share"],
  }),
  since: oneOf(["exposure", "ever"]).annotate({
    description:
      "`exposure`: what came after users entered. `ever`: all that users ever had of the metric, since the experiment does not name it or it does not add up.",
    examples: ["exposure"],
  }),
  ...counted("the users"),
} as const

const warnings = Schema.Array(oneOf(resultWarnings))

export const ExperimentResults = Schema.Struct({
  experiment: Schema.String.annotate({
    description: "The key of the experiment.",
    examples: ["daily-goal"],
  }),
  ...compared,
  variants: Schema.NullOr(Schema.Array(VariantResult)).annotate({
    description: "The variants; the first is the control. Null: not counted yet.",
  }),
  leftOut: Schema.NullOr(Schema.Int).annotate({
    description:
      "Users whom the results leave out: merged users who had different variants. Null: not counted yet.",
    examples: [3],
  }),
  sampleRatio: Schema.NullOr(
    Schema.Struct({
      chiSquare: figure("Pearson's chi-square of the users who entered, by the weights.", 0.1),
      p: figure("The probability of a chi-square above it by chance.", 0.7518),
      mismatch: Schema.Boolean.annotate({
        description:
          "Whether `p` is below 0.001, and each variant was meant to have at least 10 users: then users of one variant are probably not all counted, and no difference can be trusted.",
        examples: [false],
      }),
    }).annotate({ identifier: "SampleRatio", description: "A test of the sizes of the variants." }),
  ).annotate({
    description:
      "Whether the variants have as many users as meant; null: the weights were changed, or the users are not counted yet.",
  }),
  warnings: warnings.annotate({
    description: `Reasons for care. \`not_ended\`: the experiment has no end yet, or it lies ahead; who reads results again and again, and stops at the first interval that leaves out 0, finds differences by chance much more often than once in 20. \`sample_ratio_mismatch\`: see \`sampleRatio\`. \`weights_changed\`: users entered by different weights, at different times. \`few_users\`: a variant has fewer than ${limits.experimentUsersMin} users who count.`,
    examples: [[]],
  }),
}).annotate({
  identifier: "ExperimentResults",
  description: "What an experiment brought, by variant.",
  examples: [experimentResults],
})

const { key, users, value, difference } = VariantResult.fields

/** The last result, as lists and the experiment itself show it. */
const ShortResult = Schema.Struct({
  ...compared,
  variants: Schema.NullOr(
    Schema.Array(
      Schema.Struct({ key, users, value, difference }).annotate({
        identifier: "ShortVariantResult",
        description: "The short result of a variant.",
      }),
    ),
  ).annotate({ description: "The variants; the first is the control. Null: not counted yet." }),
  enoughUsers: Schema.NullOr(Schema.Boolean).annotate({
    description: `Whether each variant has ${limits.experimentUsersMin} users who count; null: not counted yet.`,
    examples: [true],
  }),
  warnings: warnings.annotate({
    description: "The same as those of the results.",
    examples: [[]],
  }),
}).annotate({
  identifier: "ShortExperimentResult",
  description: "The last result of an experiment, in short.",
  examples: [shortResult],
})

const ExperimentWithResult = Schema.Struct({
  ...Experiment.fields,
  result: Schema.NullOr(ShortResult).annotate({
    description: `The last result that was counted: of the experiment's metric, or of retention of day 7 if it names none. A new one is counted in the background if it is older than ${limits.segmentCountFreshMs / 1_000} seconds. Null: the experiment is a draft, scheduled or archived.`,
    examples: [shortResult],
  }),
}).annotate({
  identifier: "ExperimentWithResult",
  description: "An experiment, and its last result.",
  examples: [{ ...experiment, result: shortResult }],
})

export const ExperimentPage = Schema.Struct({
  experiments: Schema.Array(ExperimentWithResult).annotate({
    description: "In the order of creation.",
  }),
  ...pageFields("experiments"),
}).annotate({
  identifier: "ExperimentPage",
  description: "A page of the experiments.",
  examples: [experimentPage],
})

export const Experiments = HttpApiGroup.make("experiments")
  .add(
    ...definitionEndpoints({
      path: "/v1/experiments",
      params,
      readers: ["read"],
      notFound: ExperimentNotFound,
      create: {
        payload: NewExperiment,
        success: Experiment,
        summary: "Create an experiment",
        description: `A user enters the experiment with the first contact while it runs, if the user is in its audience: an event that is not imported, a reward, or the start of a quest. The variant follows from a hash of the experiment's id and the user's id, over the weights. It is a fact of the user's history, \`experiment.exposed\`, and stays the user's: edits of weights, the audience, the end of the experiment and undos do not change it. Variants differ by segments with the condition \`experiment\`; the event with which a user enters sees them already. An environment holds at most ${limits.experimentsMax} experiments that are not archived.`,
      },
      list: {
        query: listQuery("experiments"),
        success: ExperimentPage,
        summary: "List experiments",
        description:
          "Lists the experiments of the key's project and environment: all except archived ones, or all with the given status. Each has its last result in short; the results have more.",
      },
      get: {
        success: ExperimentWithResult,
        summary: "Read an experiment",
        description: "Returns an experiment by its id or key, with its last result in short.",
      },
      update: {
        payload: ExperimentPatch,
        success: Experiment,
        error: [...writeProblems, ExperimentNotFound, ChangeConflict],
        summary: "Change an experiment",
        description: `${patchWords}

Once it was published, the keys of its variants and its metric no longer change. Changed weights apply to users who enter from now on. While it is paused nobody enters, and users who did keep their variants.

${statusWords}`,
      },
      delete: {
        success: HttpApiSchema.NoContent.annotate({ description: "The experiment is archived." }),
        error: [...readProblems, ExperimentNotFound, UseConflict],
        summary: "Archive an experiment",
        description:
          "Nobody enters it any more, and users no longer show it. It still reads by its id or key and in the list with `status=archived`. An experiment that segments ask for cannot be archived (409 `in_use`). Archiving twice returns 404.",
      },
    }),
    HttpApiEndpoint.get("results", "/v1/experiments/:id/results", {
      params,
      query: resultsQuery,
      success: ExperimentResults,
      error: [...readProblems, ExperimentNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read the results of an experiment",
          description: `Returns for each variant the mean of a metric, or the share of users with enough of it or who came back, with 95 % intervals, and the difference to the first variant, the control. Of the metric that the experiment names, if it is a count, a sum or a number of days, only what came after users entered counts; so it tells more than others. Undone events and erased users are in no number. Users are counted in the background when this is read; in an environment with many users, a reply may have the numbers of some seconds ago. With several variants or metrics, one interval in 20 leaves out 0 by chance.`,
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Experiments",
      description: "Users divided into variants, to measure what a change brings.",
    }),
  )
