/** Operations on currencies. Each user has a balance of each currency. */
import { Schema } from "effect"
import { HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Reward } from "../../domain/message/FactMembers.ts"
import { earnPeriods, levelBases } from "../../domain/project/Currency.ts"
import { refundDays } from "../../domain/user/Expiry.ts"
import { limits } from "../../Limits.ts"
import {
  ApiKey,
  check,
  integer,
  list,
  oneOf,
  pageFields,
  pageQuery,
  text,
  versionFields,
} from "./Common.ts"
import {
  DefinitionKey,
  NewReward,
  newMembers,
  patchMembers,
  patchWords,
  pathOf,
  shownMembers,
} from "./DefinitionShapes.ts"
import { definitionEndpoints } from "./definitionEndpoints.ts"
import { currency, currencyPage } from "./examples/definitionExamples.ts"
import { currencyId } from "./examples/exampleIds.ts"
import { LevelCurve, LevelCurvePatch } from "./LevelCurves.ts"
import {
  ChangeConflict,
  CurrencyNotFound,
  readProblems,
  UseConflict,
  writeProblems,
} from "./Problems.ts"

const Name = text(1, limits.titleCharactersMax).annotate({
  description: "Name for people.",
  examples: ["Gems"],
})
const Spendable = Schema.Boolean.annotate({
  description:
    "Whether users can spend it. Default `true`. `xp` never is, and `points` always are.",
  examples: [true],
})
const Max = integer(1, limits.balanceMax).annotate({
  description:
    "A credit raises a balance at most to this amount; `capped` in the reply has the rest, which the user does not get. A refund, or lowering `max`, may leave a balance above it. Default: none.",
  examples: [100],
})

const EarnAmount = integer(1, limits.balanceMax).annotate({
  description: "The most that a user is credited in a period.",
  examples: [500],
})
const EarnPer = oneOf(earnPeriods).annotate({
  description: "A day, an ISO week or a month of the user's calendar.",
  examples: ["day"],
})
const earnLimitWords =
  "A user is credited at most `amount` for what occurred in one period, whatever it is for: rules, quests and rewards that you grant. What `multiplierPath` and boosts multiplied is cut, first by `earnLimit`, then by `max`; `capped` in the reply has the rest. An undo gives room again. Credits count from when it is set; if `per` changes, from then. Default: none."
const EarnLimit = Schema.Struct({ amount: EarnAmount, per: EarnPer }).annotate({
  identifier: "EarnLimit",
  description: earnLimitWords,
  examples: [{ amount: 500, per: "day" }],
})

const RefillAmount = integer(1, limits.refillMaxMax).annotate({
  description: "How many are added.",
  examples: [1],
})
const EveryMinutes = integer(1, limits.refillMinutesMax).annotate({
  description: "After how many minutes.",
  examples: [240],
})
const refillWords = `Adds \`amount\` to each user's balance every \`everyMinutes\`, up to \`max\`, which it needs, and which is then at most ${limits.refillMaxMax.toLocaleString("en-US")}. A new user has none: grant some if users should begin with more. A balance at \`max\` waits, until some is spent. It does not count for \`earnLimit\`. An edit of it or of \`max\` changes no balance, and the wait for the next amount begins again. Not for \`xp\` and \`points\`. Default: none.`
const Refill = Schema.Struct({ amount: RefillAmount, everyMinutes: EveryMinutes }).annotate({
  identifier: "Refill",
  description: refillWords,
  examples: [{ amount: 1, everyMinutes: 240 }],
})

const PendingDays = integer(1, limits.pendingDaysMax).annotate({
  description:
    "A credit becomes spendable at the user's midnight so many days after the day of the event, such as after the time in which goods can be returned. Until then it is in the balance and `pending`: an undo takes it back, and nothing can be spent of it. A refund is spendable at once. An edit changes only later credits. Only for spendable currencies. Default: none.",
  examples: [14],
})

const ExpiryDays = integer(1, limits.expiryDaysMax)
const isMonthDay = (text: string): boolean => {
  const day = /^\d\d-\d\d$/.test(text) ? new Date(`2028-${text}T00:00:00Z`) : undefined
  return day !== undefined && day.getTime() > 0 && day.toISOString().slice(5, 10) === text
}
const Expiry = Schema.Struct({
  afterDays: Schema.optionalKey(
    ExpiryDays.annotate({
      description: "A credit ends so many days after the day of the event.",
      examples: [365],
    }),
  ),
  inactivityDays: Schema.optionalKey(
    ExpiryDays.annotate({
      description:
        "The balance ends so many days after the day of the user's last event. Only events count: neither rewards nor spends do.",
      examples: [90],
    }),
  ),
  yearlyOn: Schema.optionalKey(
    Schema.String.check(
      check("invalid_format", "must be a month and a day, such as 12-31", isMonthDay, {
        pattern: "^\\d\\d-\\d\\d$",
      }),
    ).annotate({
      description: "A credit ends with the next such day. The 29th of February may be the 28th.",
      examples: ["12-31"],
    }),
  ),
})
  .check(
    check<object>(
      "invalid_value",
      "must have one member",
      (expiry) => Object.keys(expiry).length === 1,
      { minProperties: 1, maxProperties: 1 },
    ),
  )
  .annotate({
    identifier: "Expiry",
    description: `When a credit ends: at the end of a day of the user's calendar, which is not before the day of its receipt, nor before it can be spent. Spends take first what ends first. A refund goes back to what the spend was taken from, and lives at least ${refundDays} more days. \`expiring\` of a user lists what will end; \`currency.expired\` tells of what did. A user has at most ${limits.lotsMax} such days in a currency: beyond that the two nearest become the later one. An edit changes only later credits, except that an event moves the end of the whole balance with \`inactivityDays\`. Not for \`xp\`, whose sum is the score of the leaderboard, and not with \`refill\`, neither now nor before. Default: never.`,
    examples: [{ afterDays: 365 }, { inactivityDays: 90 }, { yearlyOn: "12-31" }],
  })

const Icon = text(0, limits.iconCharactersMax).annotate({
  description: "URL, emoji or any text for your app.",
  examples: ["🥈"],
})
const levelMembers = {
  key: DefinitionKey.annotate({
    description: "The key of the level, unique in the currency.",
    examples: ["silver"],
  }),
  name: Name.annotate({ description: "Name for people.", examples: ["Silver"] }),
  from: integer(0, limits.balanceMax).annotate({
    description: "The amount at which it begins, above that of the level before.",
    examples: [500],
  }),
}
const NewNamedLevel = Schema.Struct({
  ...levelMembers,
  icon: Schema.optionalKey(Icon),
  reward: Schema.optionalKey(NewReward),
}).annotate({
  identifier: "NewNamedLevel",
  description:
    "A level of a currency. Its `reward` pays a user once, ever, when the amount grows to it. An undo of what reached it takes the payment back; a level that is lost in another way keeps it, and is not paid again. Not for a level from 0, which everybody has.",
})
const NamedLevel = Schema.Struct({
  ...levelMembers,
  icon: Schema.NullOr(Schema.String).annotate({
    description: "URL, emoji or any text for your app; null: none.",
    examples: ["🥈"],
  }),
  reward: Reward,
}).annotate({ identifier: "NamedLevel", description: "A level of a currency." })
const Of = oneOf(levelBases).annotate({
  description:
    "`earned`: what the user earned, also after it was spent or ended; `balance`: what the user has. Default `earned`.",
  examples: ["earned"],
})
const levelsWords =
  "Levels of users, by a `table` of named ones, lowest first, or by a `curve` as that of the project's settings. `levels` of a user has the present one and the next. An edit applies to all users at once, and neither pays nor takes. With `of: balance` and `yearlyOn` of `expiry`, a level is a status that must be earned again each year. Not for `xp`, whose levels are those of the project's `levelCurve`, and not with `refill`, neither now nor before. Default: none."
const curveWords =
  "The curve of levels without names. Where its members speak of xp, the amount of this currency counts."
const Levels = Schema.Struct({
  of: Schema.optionalKey(Of),
  table: Schema.optionalKey(
    list(NewNamedLevel, 1, limits.currencyLevelsMax).annotate({
      description: "Named levels, lowest first.",
      examples: [[{ key: "silver", name: "Silver", from: 500 }]],
    }),
  ),
  curve: Schema.optionalKey(
    Schema.Struct(LevelCurvePatch.fields).annotate({
      identifier: "NewCurrencyCurve",
      description: curveWords,
      examples: [{ kind: "linear", xpPerLevel: 100 }],
    }),
  ),
})
  .check(
    check<{ readonly table?: unknown; readonly curve?: unknown }>(
      "invalid_value",
      "must have either table or curve",
      ({ curve, table }) => (curve === undefined) !== (table === undefined),
    ),
  )
  .annotate({
    identifier: "NewLevels",
    description: levelsWords,
    examples: [{ table: [{ key: "silver", name: "Silver", from: 500 }] }],
  })

const { description, key, metadata } = newMembers("name")

export const NewCurrency = Schema.Struct({
  name: Name,
  key,
  description,
  metadata,
  spendable: Schema.optionalKey(Spendable),
  max: Schema.optionalKey(Max),
  earnLimit: Schema.optionalKey(EarnLimit),
  refill: Schema.optionalKey(Refill),
  pendingDays: Schema.optionalKey(PendingDays),
  expiry: Schema.optionalKey(Expiry),
  levels: Schema.optionalKey(Levels),
}).annotate({
  identifier: "NewCurrency",
  description: "A currency to create.",
  examples: [
    { key: "crystals", name: "Crystals", max: 100 },
    { name: "Reputation", spendable: false },
    { name: "Hearts", max: 5, refill: { amount: 1, everyMinutes: 240 } },
    { name: "Coins", expiry: { afterDays: 365 } },
    {
      name: "Miles",
      expiry: { yearlyOn: "12-31" },
      levels: { of: "balance", table: [{ key: "silver", name: "Silver", from: 500 }] },
    },
  ],
})

const status = oneOf(["active", "archived"])

export const CurrencyPatch = Schema.Struct({
  name: Schema.optionalKey(Name),
  description: patchMembers.description,
  metadata: patchMembers.metadata,
  status: Schema.optionalKey(
    status.annotate({
      description: "`archived` archives the currency, for ever.",
      examples: ["archived"],
    }),
  ),
  spendable: Schema.optionalKey(Schema.NullOr(Spendable)),
  max: Schema.optionalKey(Schema.NullOr(Max)),
  earnLimit: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({
        amount: Schema.optionalKey(EarnAmount),
        per: Schema.optionalKey(EarnPer),
      }),
    ).annotate({ description: earnLimitWords, examples: [{ amount: 800 }, null] }),
  ),
  refill: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({
        amount: Schema.optionalKey(RefillAmount),
        everyMinutes: Schema.optionalKey(EveryMinutes),
      }),
    ).annotate({ description: refillWords, examples: [{ everyMinutes: 60 }, null] }),
  ),
  pendingDays: Schema.optionalKey(Schema.NullOr(PendingDays)),
  expiry: Schema.optionalKey(
    Schema.NullOr(Expiry).annotate({
      description: "Replaces the whole expiry, for later credits; null: they never end.",
      examples: [{ afterDays: 730 }, null],
    }),
  ),
  levels: Schema.optionalKey(
    Schema.NullOr(Levels).annotate({
      description: "Replaces all levels; null: none.",
      examples: [{ table: [{ key: "silver", name: "Silver", from: 400 }] }, null],
    }),
  ),
}).annotate({ identifier: "CurrencyPatch", examples: [{ max: 200 }, { max: null }] })

export const Currency = Schema.Struct({
  id: Schema.String.annotate({
    description: "Laurel's id of the currency.",
    examples: [currencyId],
  }),
  key: shownMembers.key.annotate({
    description: "Your key of it, which never changes. Rewards, spends and balances name it so.",
    examples: ["gems"],
  }),
  name: Schema.String.annotate({ description: "Name for people.", examples: ["Gems"] }),
  description: shownMembers.description,
  metadata: shownMembers.metadata,
  status: status.annotate({ description: "An archived one never changes.", examples: ["active"] }),
  spendable: Schema.Boolean.annotate({
    description: "Whether users can spend it.",
    examples: [true],
  }),
  max: Schema.NullOr(Schema.Int).annotate({
    description: "The balance up to which credits raise it; null: none.",
    examples: [100],
  }),
  earnLimit: Schema.NullOr(EarnLimit).annotate({
    description: "The most that a user is credited in a period; null: no limit.",
    examples: [null],
  }),
  refill: Schema.NullOr(Refill).annotate({
    description: "What time adds to a balance; null: nothing.",
    examples: [null],
  }),
  pendingDays: Schema.NullOr(Schema.Int).annotate({
    description: "The days after which a credit becomes spendable; null: at once.",
    examples: [null],
  }),
  expiry: Schema.NullOr(Expiry).annotate({
    description: "When a credit ends; null: never.",
    examples: [null],
  }),
  levels: Schema.NullOr(
    Schema.Struct({
      of: Of,
      table: Schema.optionalKey(
        Schema.Array(NamedLevel).annotate({
          description: "Named levels, lowest first. Absent: a curve makes them.",
          examples: [
            [
              {
                key: "silver",
                name: "Silver",
                from: 500,
                icon: null,
                reward: { xp: 0, points: 0, badgeId: null },
              },
            ],
          ],
        }),
      ),
      curve: Schema.optionalKey(LevelCurve),
    }).annotate({ identifier: "Levels", description: "Levels by a table or by a curve." }),
  ).annotate({ description: "Levels of users; null: none.", examples: [null] }),
  ...versionFields,
}).annotate({
  identifier: "Currency",
  description: "A currency. Each user has a balance of it.",
  examples: [currency],
})

export const CurrencyPage = Schema.Struct({
  currencies: Schema.Array(Currency).annotate({
    description: "In the order of creation: `xp` and `points` come first.",
  }),
  ...pageFields("currencies"),
}).annotate({
  identifier: "CurrencyPage",
  description: "A page of the currencies.",
  examples: [currencyPage],
})

export const Currencies = HttpApiGroup.make("currencies")
  .add(
    ...definitionEndpoints({
      path: "/v1/currencies",
      params: pathOf("currency", currencyId),
      readers: ["read"],
      notFound: CurrencyNotFound,
      create: {
        payload: NewCurrency,
        success: Currency,
        summary: "Create a currency",
        description: `Rules, quests and rewards pay it by \`reward.currencies\`, and users spend it by \`POST /v1/users/{id}/points/spend\`. A user who has none of it has 0. An environment has at most ${limits.currenciesMax} currencies that are not archived, \`xp\` and \`points\` included, and at most ${limits.archivedCurrenciesMax} archived ones.`,
      },
      list: {
        query: {
          status: Schema.optionalKey(
            status.annotate({
              description: "Only those with this status. Default: `active`.",
              examples: ["active"],
            }),
          ),
          ...pageQuery("currencies"),
        },
        success: CurrencyPage,
        summary: "List currencies",
        description:
          "Lists the currencies of the key's project and environment. `xp` and `points` exist from the beginning, so their `createdAt` is 1970.",
      },
      get: {
        success: Currency,
        summary: "Read a currency",
        description: "Returns a currency by its id or key, archived or not.",
      },
      update: {
        payload: CurrencyPatch,
        success: Currency,
        error: [...writeProblems, CurrencyNotFound, ChangeConflict],
        summary: "Change a currency",
        description: `${patchWords}

An edit changes no balance. \`xp\` and \`points\` can have another name, a \`max\` and an \`earnLimit\`, points also \`pendingDays\` and an \`expiry\`, and stay as they are otherwise: 409 \`in_use\` for the status \`archived\`.`,
      },
      delete: {
        success: HttpApiSchema.NoContent.annotate({ description: "The currency is archived." }),
        error: [...readProblems, CurrencyNotFound, UseConflict],
        summary: "Archive a currency",
        description:
          "Nobody can earn or spend it any more, and replies no longer show balances of it; the history does. A spend of it can still be revoked. A currency that rules or quests pay, boosts multiply or a segment asks for, `xp` and `points` cannot be archived (409 `in_use`). Archiving twice returns 404.",
      },
    }),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Currencies",
      description: "What users earn and spend: xp, points and your own.",
    }),
  )
