/** Operations on experiments, which divide users into variants. */
import { Schema } from "effect"
import { HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { limits } from "../../Limits.ts"
import { ApiKey, distinct, integer, list, pageFields, Time, text } from "./Common.ts"
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
import { experiment, experimentPage } from "./examples/experimentExamples.ts"
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

export const ExperimentPage = Schema.Struct({
  experiments: Schema.Array(Experiment).annotate({ description: "In the order of creation." }),
  ...pageFields("experiments"),
}).annotate({
  identifier: "ExperimentPage",
  description: "A page of the experiments.",
  examples: [experimentPage],
})

const params = pathOf("experiment", experimentId)

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
          "Lists the experiments of the key's project and environment: all except archived ones, or all with the given status.",
      },
      get: {
        success: Experiment,
        summary: "Read an experiment",
        description: "Returns an experiment by its id or key.",
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
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Experiments",
      description: "Users divided into variants, to measure what a change brings.",
    }),
  )
