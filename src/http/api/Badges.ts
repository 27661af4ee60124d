/** Operations on badges, which users earn once, each tier once, or again and again. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Reward } from "../../domain/message/FactMembers.ts"
import { criterionKinds } from "../../domain/project/Definition.ts"
import { limits } from "../../Limits.ts"
import {
  ApiKey,
  distinct,
  idempotencyHeaders,
  list,
  OpenTo,
  oneOf,
  pageFields,
  Time,
  text,
} from "./Common.ts"
import {
  CountedAction,
  DefinitionKey,
  Key,
  listQuery,
  NewPayment,
  newMembers,
  PaymentPatch,
  patchMembers,
  patchWords,
  pathOf,
  ShownWhere,
  SumPath,
  shownMembers,
  statusWords,
  Target,
  Where,
} from "./DefinitionShapes.ts"
import { definitionEndpoints } from "./definitionEndpoints.ts"
import {
  backfills,
  badge,
  badgePage,
  heldBadge,
  startedBackfill,
} from "./examples/definitionExamples.ts"
import { countedBadgeId } from "./examples/exampleIds.ts"
import {
  BackfillConflict,
  BackfillNotFound,
  BadgeNotFound,
  ChangeConflict,
  readProblems,
  UseConflict,
  writeProblems,
} from "./Problems.ts"

/* Backfills: awards of a badge to users who already qualify. */

export const BackfillRequest = Schema.Struct({
  notify: Schema.optionalKey(
    Schema.Boolean.annotate({
      description: "Whether webhooks and streams report the awarded badges. Default `false`.",
      examples: [false],
    }),
  ),
}).annotate({ identifier: "BackfillRequest", examples: [{ notify: true }, {}] })

const asked = {
  badgeId: Schema.String.annotate({
    description: "The badge's id.",
    examples: [countedBadgeId],
  }),
  notify: Schema.Boolean.annotate({
    description: "Whether webhooks and streams report the awarded badges.",
    examples: [false],
  }),
  startedAt: Time.annotate({ description: "Start of the backfill." }),
}

export const StartedBackfill = Schema.Struct(asked).annotate({
  identifier: "StartedBackfill",
  description: "An accepted backfill; `Location` has its progress.",
  examples: [startedBackfill],
})

export const Backfill = Schema.Struct({
  ...asked,
  status: oneOf(["waiting", "running", "finished"]).annotate({
    description: "`waiting`: another backfill runs first.",
    examples: ["running"],
  }),
  checked: Schema.Int.annotate({
    description: "Number of users checked.",
    examples: [42_000],
  }),
  total: Schema.Int.annotate({
    description: "Number of users to check.",
    examples: [100_000],
  }),
  awarded: Schema.Int.annotate({
    description:
      "Number of users awarded. A server restart restarts the backfill, and earlier awards are not counted again.",
    examples: [1_250],
  }),
  finishedAt: Schema.NullOr(Time).annotate({
    description: "End of the backfill; null: not finished.",
    examples: [null],
  }),
}).annotate({
  identifier: "Backfill",
  description: "The award of a badge to users who already qualify.",
  examples: backfills,
})

const Name = text(1, limits.titleCharactersMax).annotate({
  description: "Name for people.",
  examples: ["Ten lessons"],
})
const Icon = text(0, limits.iconCharactersMax).annotate({
  description: "URL, emoji or any text for your app.",
  examples: ["🏅"],
})
const Secret = Schema.Boolean.annotate({
  description: "Whether users see the badge only once earned. Default `false`.",
  examples: [false],
})

const Repeatable = Schema.Boolean.annotate({
  description: `Whether a user earns the badge again at each multiple of the target, and is paid each time, at most ${limits.badgeTimesMax} times. Only for \`action_count\`, \`action_sum\` and \`metric\` with a count, a sum or distinct days; not with tiers. Only the criteria award such a badge. It never changes. Default \`false\`.`,
  examples: [false],
})

const Kind = oneOf(criterionKinds).annotate({
  description:
    "The number that earns the badge: the user's `xp` or `level`; `points`: points earned, spent ones included; `action_count`: events with an action; `action_sum`: the sum of a number in their metadata; `quest_count`: completed quests; `streak`: the longest run of a streak; `metric`: the total of a metric; `badges`: badges that the user has, all of a list; `manual`: none, only rules, quests and rewards give it.",
  examples: ["action_count"],
})

const CriterionTarget = Target.annotate({
  description:
    "The number at which the badge is earned; required unless the kind is `manual` or `badges`, or the badge has tiers.",
})
const CriterionAction = CountedAction.annotate({
  description:
    "The action of the events; only for the kinds `action_count` and `action_sum`, and required there.",
})
const CriterionSumPath = SumPath.annotate({
  description: "The path to the number to sum; only for the kind `action_sum`, and required there.",
})
const StreakKey = Key.annotate({
  description: "The key of a streak; only for the kind `streak`. Default: any streak.",
  examples: ["daily"],
})

const MetricKey = DefinitionKey.annotate({
  description:
    "The key of a metric, other than a minimum; only for the kind `metric`, and required there.",
  examples: ["kilometres-run"],
})

const ListedBadges = list(text(1, limits.idCharactersMax), 1, limits.listedBadgesMax)
  .check(distinct<string>([], (badge) => badge))
  .annotate({
    description:
      "Keys of badges that a user must have, in any tier (ids are accepted); only for the kind `badges`, and required there. Cycles are refused.",
    examples: [["reader", "runner"]],
  })

const NewCriteria = Schema.Struct({
  kind: Kind,
  target: Schema.optionalKey(CriterionTarget),
  action: Schema.optionalKey(CriterionAction),
  where: Schema.optionalKey(Where),
  sumPath: Schema.optionalKey(CriterionSumPath),
  streak: Schema.optionalKey(StreakKey),
  metric: Schema.optionalKey(MetricKey),
  badges: Schema.optionalKey(ListedBadges),
}).annotate({ identifier: "NewCriteria", description: "The badge's criteria." })

const TierKey = DefinitionKey.annotate({
  description:
    "The key of the tier, unique in the badge. Users keep a tier as long as its key stays.",
  examples: ["gold"],
})
const TierName = text(1, limits.titleCharactersMax).annotate({
  description: "Name for people.",
  examples: ["Gold"],
})
const TierTarget = Target.annotate({
  description: "The number at which the tier is earned, above that of the tier before.",
})

const Tiers = list(
  Schema.Struct({
    key: TierKey,
    name: TierName,
    target: TierTarget,
    icon: Schema.optionalKey(Icon),
    reward: Schema.optionalKey(NewPayment),
  }).annotate({ identifier: "NewTier", description: "A tier of the badge." }),
  0,
  limits.badgeTiersMax,
)
  .check(distinct<{ readonly key: string }>(["key"], ({ key }) => key))
  .annotate({
    description:
      "The tiers, lowest first, such as bronze, silver and gold. A user earns each tier once, at its target; one event may earn several. Tiers take the place of the badge's target and reward. Not for the kinds `manual` and `badges`. Default: none.",
    examples: [
      [
        { key: "bronze", name: "Bronze", target: 10 },
        { key: "gold", name: "Gold", target: 100, reward: { xp: 50 } },
      ],
    ],
  })

export const NewBadge = Schema.Struct({
  name: Name,
  ...newMembers("name"),
  criteria: NewCriteria,
  tiers: Schema.optionalKey(Tiers),
  reward: Schema.optionalKey(NewPayment),
  icon: Schema.optionalKey(Icon),
  secret: Schema.optionalKey(Secret),
  repeatable: Schema.optionalKey(Repeatable),
}).annotate({
  identifier: "NewBadge",
  description: "A badge to create.",
  examples: [
    {
      name: "Ten lessons",
      criteria: {
        kind: "action_count",
        action: "LESSON_DONE",
        where: [{ path: "score", op: "gte", value: 90 }],
        target: 10,
      },
      icon: "🏅",
    },
    {
      name: "A hundred kilometres",
      criteria: { kind: "action_sum", action: "RUN_DONE", sumPath: "km", target: 100 },
    },
    {
      name: "Reader",
      criteria: { kind: "action_count", action: "BOOK_READ" },
      tiers: [
        { key: "bronze", name: "Bronze", target: 10 },
        { key: "gold", name: "Gold", target: 100, reward: { xp: 500 } },
      ],
    },
    { name: "A whole week", criteria: { kind: "streak", streak: "daily", target: 7 } },
    {
      name: "Ten kilometres more",
      criteria: { kind: "action_sum", action: "RUN_DONE", sumPath: "km", target: 10 },
      repeatable: true,
      reward: { points: 5 },
    },
    { name: "All-rounder", criteria: { kind: "badges", badges: ["reader", "ten-lessons"] } },
    { name: "Moderator", criteria: { kind: "manual" }, secret: true },
  ],
})

export const BadgePatch = Schema.Struct({
  name: Schema.optionalKey(Name),
  criteria: Schema.optionalKey(
    Schema.Struct({
      kind: Schema.optionalKey(Kind),
      target: Schema.optionalKey(CriterionTarget),
      action: Schema.optionalKey(CriterionAction),
      where: Schema.optionalKey(Schema.NullOr(Where)),
      sumPath: Schema.optionalKey(CriterionSumPath),
      streak: Schema.optionalKey(Schema.NullOr(StreakKey)),
      metric: Schema.optionalKey(MetricKey),
      badges: Schema.optionalKey(ListedBadges),
    }).annotate({
      identifier: "CriteriaPatch",
      description:
        "Changing `kind` replaces all criteria, so send everything that the new kind requires.",
    }),
  ),
  ...patchMembers,
  tiers: Schema.optionalKey(
    Schema.NullOr(Tiers).annotate({ description: "All tiers; null: none." }),
  ),
  reward: Schema.optionalKey(
    Schema.NullOr(PaymentPatch).annotate({ description: "What it pays; null: nothing." }),
  ),
  icon: Schema.optionalKey(Schema.NullOr(Icon)),
  secret: Schema.optionalKey(Schema.NullOr(Secret)),
}).annotate({
  identifier: "BadgePatch",
  examples: [{ criteria: { target: 20 }, icon: null }, { reward: { xp: 50 } }],
})

const shownTarget = Schema.Int.annotate({
  description: "The number at which the badge, or its lowest tier, is earned.",
  examples: [10],
})

const Criteria = Schema.Union([
  Schema.Struct({
    kind: oneOf(["xp", "level", "points", "quest_count"]).annotate({
      description: "A balance or count of the user.",
    }),
    target: shownTarget,
  }),
  Schema.Struct({
    kind: Schema.Literal("action_count").annotate({ description: "Number of matching events." }),
    target: shownTarget,
    action: CountedAction,
    where: ShownWhere,
  }),
  Schema.Struct({
    kind: Schema.Literal("action_sum").annotate({
      description: "Sum of a number in the metadata of matching events.",
    }),
    target: shownTarget,
    action: CountedAction,
    where: ShownWhere,
    sumPath: SumPath,
  }),
  Schema.Struct({
    kind: Schema.Literal("streak").annotate({ description: "Days of a streak." }),
    target: shownTarget,
    streak: Schema.NullOr(Schema.String).annotate({
      description: "The key of a streak; null: any.",
      examples: ["daily"],
    }),
  }),
  Schema.Struct({
    kind: Schema.Literal("metric").annotate({ description: "The total of a metric." }),
    target: shownTarget,
    metric: Schema.String.annotate({
      description: "The key of the metric.",
      examples: ["kilometres-run"],
    }),
  }),
  Schema.Struct({
    kind: Schema.Literal("badges").annotate({ description: "Badges that the user has." }),
    target: Schema.Int.annotate({ description: "The length of the list.", examples: [2] }),
    badges: Schema.Array(Schema.String).annotate({
      description: "The keys of the badges.",
      examples: [["reader", "runner"]],
    }),
  }),
  Schema.Struct({
    kind: Schema.Literal("manual").annotate({
      description: "Given by rules, quests and rewards only.",
    }),
  }),
]).annotate({
  identifier: "Criteria",
  description: "The badge's criteria.",
  examples: [{ kind: "xp", target: 1000 }],
})

const holders = {
  count: Schema.Int.annotate({ description: "Number of users who have it.", examples: [340] }),
  share: Schema.Finite.annotate({
    description: "Their share of all users, from 0 to 1.",
    examples: [0.34],
  }),
}

const fields = {
  id: Schema.String.annotate({
    description: "Laurel's id of the badge.",
    examples: [countedBadgeId],
  }),
  name: Schema.String.annotate({
    description: "Name for people.",
    examples: ["Ten lessons"],
  }),
  ...shownMembers,
  icon: Schema.NullOr(Schema.String).annotate({
    description: "URL, emoji or any text for your app.",
    examples: ["🏅"],
  }),
  criteria: Criteria,
  tiers: Schema.Array(
    Schema.Struct({
      key: Schema.String.annotate({ description: "Your key of the tier.", examples: ["gold"] }),
      name: Schema.String.annotate({ description: "Name for people.", examples: ["Gold"] }),
      target: Schema.Int.annotate({
        description: "The number at which the tier is earned.",
        examples: [100],
      }),
      icon: Schema.NullOr(Schema.String).annotate({
        description: "URL, emoji or any text for your app.",
        examples: ["🥇"],
      }),
      reward: Reward,
    }).annotate({ identifier: "BadgeTier", description: "A tier of the badge." }),
  ).annotate({
    description: "The tiers, lowest first; empty: the badge has none.",
    examples: [[]],
  }),
  reward: Reward,
  secret: Schema.Boolean.annotate({
    description: "Whether users see the badge only once earned.",
    examples: [false],
  }),
  repeatable: Schema.Boolean.annotate({
    description: "Whether a user earns the badge at each multiple of the target.",
    examples: [false],
  }),
}

export const Badge = Schema.Struct(fields).annotate({
  identifier: "Badge",
  description: "A badge, which a user can earn once, each tier once, or a repeatable badge often.",
  examples: [badge],
})

export const HeldBadge = Schema.Struct({
  ...fields,
  holders: Schema.Struct({
    ...holders,
    tiers: Schema.optionalKey(
      Schema.Record(
        Schema.String,
        Schema.Struct(holders).annotate({
          identifier: "TierHolders",
          description: "The users who have the tier.",
        }),
      ).annotate({
        description: "The same for each tier, by key. Absent: the badge has no tiers.",
        examples: [{ gold: { count: 12, share: 0.012 } }],
      }),
    ),
  }).annotate({
    identifier: "BadgeHolders",
    description: "The users who have the badge, in any tier.",
  }),
}).annotate({
  identifier: "HeldBadge",
  description: "A badge, and how many users have it.",
  examples: [heldBadge],
})

export const BadgePage = Schema.Struct({
  badges: Schema.Array(HeldBadge).annotate({ description: "In the order of creation." }),
  ...pageFields("badges"),
}).annotate({
  identifier: "BadgePage",
  description: "A page of the badges.",
  examples: [badgePage],
})

const params = pathOf("badge", countedBadgeId)

export const Badges = HttpApiGroup.make("badges")
  .add(
    ...definitionEndpoints({
      path: "/v1/badges",
      params,
      readers: OpenTo.clients,
      notFound: BadgeNotFound,
      create: {
        payload: NewBadge,
        success: Badge,
        summary: "Create a badge",
        description: `A user earns the badge once, with the event or reward that reaches the target of its criteria; of a badge with tiers, each tier once; a repeatable badge at each multiple of the target. \`action_count\` and \`action_sum\` look at events from now on that occurred from \`startsAt\` on and before \`endsAt\`; only such an event awards the badge. \`badges\` awards it with the last badge of the list, whatever gave that one; a user who loses one of the list loses it, too. Its \`reward\`, or that of the tier, pays a user once: a revocation of the event or reward that paid revokes the payment too, and the badge pays again when the user earns it again. An environment holds at most ${limits.badgesMax} badges that are not archived.`,
      },
      list: {
        query: listQuery("badges"),
        success: BadgePage,
        summary: "List badges",
        description:
          "Lists the badges of the key's project and environment: all except archived ones, or all with the given status. Publishable keys see active and paused badges that are not secret.",
      },
      get: {
        success: HeldBadge,
        summary: "Read a badge",
        description:
          "Returns a badge by its id or key, archived or not, and how many users have it now. Publishable keys see active and paused badges that are not secret.",
      },
      update: {
        payload: BadgePatch,
        success: Badge,
        error: [...writeProblems, BadgeNotFound, ChangeConflict],
        summary: "Change a badge",
        description: `${patchWords}

Owners keep the badge whatever its new criteria, and a change neither pays nor takes. A tier with a new key is a new tier. A repeatable badge with a new target is earned at the multiples of the new target from now on; a backfill awards those that lie behind. Counts and sums stay; new criteria apply to events from now on. After lowering a target, start a backfill to award users past it. A paused badge is not awarded, by rewards of others neither, and still counts events; once it is active again, a backfill awards users who passed the target meanwhile.

${statusWords}`,
      },
      delete: {
        success: HttpApiSchema.NoContent.annotate({ description: "The badge is archived." }),
        error: [...readProblems, BadgeNotFound, UseConflict],
        summary: "Archive a badge",
        description:
          "Nobody can earn the badge any more; owners keep it, and it still reads by its id or key. A badge that rules or quests give cannot be archived (409 `in_use`): change them first. Archiving twice returns 404.",
      },
    }),
    HttpApiEndpoint.post("startBackfill", "/v1/badges/:id/backfill", {
      params,
      headers: idempotencyHeaders,
      payload: BackfillRequest,
      success: StartedBackfill.pipe(HttpApiSchema.status(202)),
      error: [...writeProblems, BadgeNotFound, BackfillConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Award a badge for the past",
          description:
            "Awards the badge, in the background, to every user who already qualifies, in each tier; without messages unless `notify` is true. It pays its reward, which counts in no window of a leaderboard. For `action_count` it counts each user's whole history, including events before the badge, but none outside its period; users below the target continue from that count, and the counts of owners are corrected. Backfills of one environment run one at a time and survive a restart. Only an active badge can have one (409 `invalid_transition`). A `manual` badge has no backfill, and a running one cannot be started again (409 `conflict`).",
        }),
      ),
    HttpApiEndpoint.get("getBackfill", "/v1/badges/:id/backfill", {
      params,
      success: Backfill,
      error: [...readProblems, BackfillNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a backfill",
          description: "Returns the progress of a badge's latest backfill.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({ title: "Badges", description: "Badges that users can earn, once each." }),
  )
