/** Operations on boosts, which multiply what rules and quests pay for a time. */
import { Schema } from "effect"
import { HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { boostTimeZones, factorScale, weekdays } from "../../domain/project/Boost.ts"
import { limits } from "../../Limits.ts"
import {
  ApiKey,
  check,
  distinct,
  faultAt,
  list,
  number,
  oneOf,
  pageFields,
  text,
} from "./Common.ts"
import {
  DefinitionKey,
  listQuery,
  newMembers,
  patchMembers,
  patchWords,
  pathOf,
  shownMembers,
  statusWords,
} from "./DefinitionShapes.ts"
import { definitionEndpoints } from "./definitionEndpoints.ts"
import { boost, boostPage } from "./examples/definitionExamples.ts"
import { boostId } from "./examples/exampleIds.ts"
import {
  BoostConflict,
  BoostNotFound,
  readProblems,
  UseConflict,
  writeProblems,
} from "./Problems.ts"

const Name = text(1, limits.titleCharactersMax).annotate({
  description: "Name for people.",
  examples: ["Happy hour"],
})

const Currencies = list(DefinitionKey, 1, limits.boostCurrenciesMax)
  .check(distinct<string>([], (key) => key))
  .annotate({
    description: "The keys of the currencies that it multiplies: `xp`, `points` or your own.",
    examples: [["xp"]],
  })

const Factor = number(limits.boostFactorMin, limits.boostFactorMax)
  .check(
    check(
      "out_of_range",
      `must have at most ${limits.boostFactorDecimals} decimals`,
      (factor) => Math.round(factor * factorScale) / factorScale === factor,
    ),
  )
  .annotate({
    description: `What amounts are multiplied by, with at most ${limits.boostFactorDecimals} decimals. Boosts that run at the same time multiply together, to at most ${limits.boostProductMax}; the product is rounded down once. Below 1 it reduces what is paid, to 0 if the product is less than 1.`,
    examples: [2],
  })

const timeOfDay = (words: string, pattern: RegExp) =>
  Schema.String.check(
    check("invalid_format", `must be ${words}`, (time) => pattern.test(time), {
      pattern: pattern.source,
    }),
  )

const from = timeOfDay("a time such as 18:00, to 23:59", /^(?:[01]\d|2[0-3]):[0-5]\d$/)
const to = timeOfDay("a time such as 20:00, to 24:00", /^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/)

export const Spell = Schema.Struct({
  days: list(oneOf(weekdays), 1, weekdays.length)
    .check(distinct<string>([], (day) => day))
    .annotate({ description: "The days on which it begins.", examples: [["friday"]] }),
  from: from.annotate({ description: "Its start; the minute is in it.", examples: ["18:00"] }),
  to: to.annotate({
    description:
      "Its end; the minute is no longer in it. A time that is not after `from` is one of the next day. `24:00` is midnight.",
    examples: ["20:00"],
  }),
})
  .check(
    Schema.makeFilter(
      (spell: { readonly from: string; readonly to: string }) =>
        spell.from !== spell.to ||
        faultAt(["to"], "out_of_range", "must differ from `from`: a whole day is 00:00 to 24:00"),
      { toJsonSchema: () => [{}, true] },
    ),
  )
  .annotate({
    identifier: "Spell",
    description: "A span of local time on some days of each week.",
    examples: [{ days: ["friday"], from: "18:00", to: "20:00" }],
  })

const Weekly = list(Spell, 0, limits.boostSpellsMax).annotate({
  description:
    "The spells of each week in which it runs. An event is in a spell if a clock on the wall showed a time of the spell when it occurred: in the hour that daylight saving repeats, both times, and each amount is multiplied once. Default: it always runs from `startsAt` to `endsAt`.",
  examples: [[{ days: ["friday"], from: "18:00", to: "20:00" }]],
})

const TimeZone = oneOf(boostTimeZones).annotate({
  description:
    "Whose clock the spells follow: that of the project, or that of each user. Default `project`.",
  examples: ["project"],
})

const Personal = Schema.Boolean.annotate({
  description:
    "Whether it runs only for users to whom a reward gives it, by `reward.boost`, for the minutes that the reward names. Such a boost has no `startsAt`, `endsAt`, `weekly`, `timeZone` and `segment`. It never changes. Default false.",
  examples: [true],
})

export const NewBoost = Schema.Struct({
  ...newMembers("name"),
  name: Name,
  currencies: Currencies,
  factor: Factor,
  weekly: Schema.optionalKey(Weekly),
  timeZone: Schema.optionalKey(TimeZone),
  personal: Schema.optionalKey(Personal),
}).annotate({
  identifier: "NewBoost",
  description: "A boost to create.",
  examples: [
    {
      name: "Happy hour",
      currencies: ["xp"],
      factor: 2,
      weekly: [{ days: ["friday"], from: "18:00", to: "20:00" }],
    },
    {
      name: "Launch week",
      currencies: ["xp", "points"],
      factor: 1.5,
      startsAt: "2026-11-02T00:00:00Z",
      endsAt: "2026-11-09T00:00:00Z",
    },
    { name: "Double xp", currencies: ["xp"], factor: 2, personal: true },
  ],
})

export const BoostPatch = Schema.Struct({
  ...patchMembers,
  name: Schema.optionalKey(Name),
  currencies: Schema.optionalKey(Currencies),
  factor: Schema.optionalKey(Factor),
  weekly: Schema.optionalKey(Schema.NullOr(Weekly)),
  timeZone: Schema.optionalKey(Schema.NullOr(TimeZone)),
}).annotate({
  identifier: "BoostPatch",
  examples: [{ factor: 1.5 }, { status: "paused" }],
})

export const Boost = Schema.Struct({
  id: Schema.String.annotate({ description: "Laurel's id of the boost.", examples: [boostId] }),
  ...shownMembers,
  name: Schema.String.annotate({ description: "Name for people.", examples: ["Happy hour"] }),
  currencies: Schema.Array(Schema.String).annotate({
    description: "The keys of the currencies that it multiplies.",
    examples: [["xp"]],
  }),
  factor: Schema.Finite.annotate({
    description: "What amounts are multiplied by.",
    examples: [2],
  }),
  weekly: Schema.Array(Spell).annotate({
    description:
      "The spells of each week in which it runs; empty: it always runs from `startsAt` to `endsAt`.",
    examples: [boost.weekly],
  }),
  timeZone: oneOf(boostTimeZones).annotate({
    description: "Whose clock the spells follow.",
    examples: ["project"],
  }),
  personal: Schema.Boolean.annotate({
    description: "Whether it runs only for users to whom a reward gave it.",
    examples: [false],
  }),
}).annotate({
  identifier: "Boost",
  description: "A boost: while it runs, rules and quests pay a multiple.",
  examples: [boost],
})

export const BoostPage = Schema.Struct({
  boosts: Schema.Array(Boost).annotate({ description: "In the order of creation." }),
  ...pageFields("boosts"),
}).annotate({
  identifier: "BoostPage",
  description: "A page of the boosts.",
  examples: [boostPage],
})

const params = pathOf("boost", boostId)

export const Boosts = HttpApiGroup.make("boosts")
  .add(
    ...definitionEndpoints({
      path: "/v1/boosts",
      params,
      readers: ["read"],
      notFound: BoostNotFound,
      create: {
        payload: NewBoost,
        success: Boost,
        summary: "Create a boost",
        description: `While the boost runs, rules and quests pay its currencies times \`factor\`. It counts for an event that occurred while it ran, also if the event arrives later: from \`startsAt\` on, before \`endsAt\`, and in one of the \`weekly\` spells, if it has some. With a \`segment\` it counts only for users who are members before the event. It multiplies amounts of rules and quests, not rewards that you grant. The reply to an event names the boosts that multiplied what the event earned. A \`personal\` boost runs only for users to whom a reward gives it. At most ${limits.runningBoostsMax} other boosts of an environment are scheduled or active; ${limits.boostsMax} are not archived.`,
      },
      list: {
        query: listQuery("boosts"),
        success: BoostPage,
        summary: "List boosts",
        description:
          "Lists the boosts of the key's project and environment: all except archived ones, or all with the given status.",
      },
      get: {
        success: Boost,
        summary: "Read a boost",
        description: "Returns a boost by its id or key.",
      },
      update: {
        payload: BoostPatch,
        success: Boost,
        error: [...writeProblems, BoostNotFound, BoostConflict],
        summary: "Change a boost",
        description: `${patchWords}

The change applies to events that arrive from now on, also to those that occurred earlier. What was earned stays, and an undo takes back exactly that. A paused boost multiplies nothing.

${statusWords}`,
      },
      delete: {
        success: HttpApiSchema.NoContent.annotate({ description: "The boost is archived." }),
        error: [...readProblems, BoostNotFound, UseConflict],
        summary: "Archive a boost",
        description:
          "The boost multiplies nothing from now on; what was earned stays. It still reads by its id or key and in the list with `status=archived`. A personal boost that rules, quests, badges or streaks give cannot be archived (409 `in_use`). Archiving twice returns 404.",
      },
    }),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Boosts",
      description: "Multiples of what users earn, for a time.",
    }),
  )
