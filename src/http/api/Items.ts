/** Operations on items, which users buy for amounts of currencies. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  Balances,
  Earned,
  furtherOutcome,
  LevelChange,
  Reward,
} from "../../domain/message/FactMembers.ts"
import { limitPeriods } from "../../domain/values/Periods.ts"
import { limits } from "../../Limits.ts"
import {
  ApiKey,
  EarnedBadge,
  integer,
  OpenTo,
  oneOf,
  pageFields,
  pageQuery,
  type RequestParts,
  Time,
  text,
  UserId,
  UserNamed,
} from "./Common.ts"
import {
  amountsBy,
  listQuery,
  NewReward,
  newMembers,
  patchMembers,
  patchWords,
  pathOf,
  RewardPatch,
  shownMembers,
  statusWords,
} from "./DefinitionShapes.ts"
import { definitionEndpoints } from "./definitionEndpoints.ts"
import { itemId } from "./examples/exampleIds.ts"
import {
  item,
  itemForSale,
  itemForUser,
  itemPage,
  purchasePreview,
  userItems,
} from "./examples/itemExamples.ts"
import {
  ArchivedConflict,
  BuyerNotFound,
  ChangeConflict,
  DefinitionConflict,
  ItemNotFound,
  KeyInProgress,
  readProblems,
  UserNotFound,
  writeProblems,
} from "./Problems.ts"

const Name = text(1, limits.titleCharactersMax).annotate({
  description: "Name for people.",
  examples: ["Streak freeze"],
})

const isNoPart = (): boolean => false
const priced = integer(1, limits.amountMax)

const Price = amountsBy(priced, isNoPart, limits.itemPricesMax).annotate({
  description:
    "What it costs: amounts of spendable currencies, by key, `points` included. A purchase takes all of them or nothing.",
  examples: [{ gems: 5 }],
})

const Times = integer(1, limits.limitTimesMax).annotate({
  description: "Units per user and period.",
  examples: [2],
})
const Per = oneOf(limitPeriods).annotate({
  description:
    "The period, in the project's time zone: clock hours, days, ISO weeks, months. `ever` never resets. Default `ever`.",
  examples: ["week"],
})
const limitWords =
  "How many units a user can buy. Refunded units do not count. Default: any number."

const Stock = integer(0, limits.itemStockMax).annotate({
  description:
    "How many units are ever for sale, sold ones included: to add 10 units, raise it by 10. Below what was sold, none is left; nothing is taken from buyers. Default: any number.",
  examples: [100],
})

export const NewItem = Schema.Struct({
  ...newMembers("name"),
  name: Name,
  price: Price,
  reward: Schema.optionalKey(NewReward),
  limit: Schema.optionalKey(
    Schema.Struct({ times: Times, per: Schema.optionalKey(Per) }).annotate({
      identifier: "ItemLimit",
      description: limitWords,
      examples: [{ times: 2, per: "week" }],
    }),
  ),
  stock: Schema.optionalKey(Stock),
}).annotate({
  identifier: "NewItem",
  description: "An item to create.",
  examples: [
    { name: "Streak freeze", price: { gems: 5 }, reward: { freezes: { daily: 1 } } },
    { name: "Signed poster", price: { gems: 50, points: 1000 }, limit: { times: 1 }, stock: 10 },
  ],
})

export const ItemPatch = Schema.Struct({
  ...patchMembers,
  name: Schema.optionalKey(Name),
  price: Schema.optionalKey(
    amountsBy(Schema.NullOr(priced), isNoPart, limits.itemPricesMax).annotate({
      description: "Amounts by currency; null removes one.",
      examples: [{ gems: 6 }],
    }),
  ),
  reward: Schema.optionalKey(Schema.NullOr(RewardPatch)).annotate({
    description: "What a purchase gives; null: nothing.",
    examples: [{ xp: 120 }],
  }),
  limit: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({
        times: Schema.optionalKey(Times),
        per: Schema.optionalKey(Per),
      }).annotate({ identifier: "ItemLimitPatch", examples: [{ times: 3 }] }),
    ).annotate({ description: limitWords, examples: [{ times: 3 }] }),
  ),
  stock: Schema.optionalKey(Schema.NullOr(Stock)),
}).annotate({
  identifier: "ItemPatch",
  examples: [{ stock: 110 }, { price: { gems: 6 } }, { status: "paused" }],
})

const fields = {
  id: Schema.String.annotate({ description: "Laurel's id of the item.", examples: [itemId] }),
  ...shownMembers,
  name: Schema.String.annotate({ description: "Name for people.", examples: ["Streak freeze"] }),
  price: Schema.Record(Schema.String, Schema.Int).annotate({
    description: "What it costs, by currency.",
    examples: [{ gems: 5 }],
  }),
  reward: Reward,
  limit: Schema.NullOr(Schema.Struct({ times: Times, per: Per })).annotate({
    description: "How many units a user can buy; null: any number.",
    examples: [item.limit],
  }),
  stock: Schema.NullOr(Schema.Int).annotate({
    description: "How many units are ever for sale, sold ones included; null: any number.",
    examples: [100],
  }),
}

export const Item = Schema.Struct(fields).annotate({
  identifier: "Item",
  description: "An item that users can buy.",
  examples: [item],
})

export const ItemForSale = Schema.Struct({
  ...fields,
  sold: Schema.Int.annotate({
    description: "Units sold and not refunded, also to users who were erased since.",
    examples: [40],
  }),
  left: Schema.NullOr(Schema.Int).annotate({
    description: "Units left; null: any number.",
    examples: [60],
  }),
}).annotate({
  identifier: "ItemForSale",
  description: "An item, and how many units are sold and left.",
  examples: [itemForSale],
})

export const ItemPage = Schema.Struct({
  items: Schema.Array(ItemForSale).annotate({ description: "In the order of creation." }),
  ...pageFields("items"),
}).annotate({
  identifier: "ItemPage",
  description: "A page of the items.",
  examples: [itemPage],
})

/** Why a user cannot buy an item. A shop shows no item that is not for the user. */
export const buyingRefusals = [
  "item_not_active",
  "not_in_segment",
  "limit_reached",
  "sold_out",
  "insufficient_balance",
  "currency_not_found",
  "currency_not_spendable",
  "balance_overflow",
] as const

const BuyingRefusal = Schema.Struct({
  code: oneOf(buyingRefusals).annotate({
    description: "The code that a purchase would get now.",
    examples: ["insufficient_balance"],
  }),
  detail: Schema.String.annotate({
    description: "The reason, as the purchase would tell it.",
    examples: [itemForUser.refusal.detail],
  }),
  missing: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Int).annotate({
      description: "For `insufficient_balance`: what lacks of the price, by currency.",
      examples: [itemForUser.refusal.missing],
    }),
  ),
}).annotate({ identifier: "BuyingRefusal" })

export const ItemForUser = Schema.Struct({
  ...ItemForSale.fields,
  bought: Schema.Int.annotate({
    description:
      "Units that the user has bought: those that count for `limit` now; without a limit, all that were not refunded.",
    examples: [1],
  }),
  limitEndsAt: Schema.NullOr(Time).annotate({
    description: "When the present period of `limit` ends; null: never.",
  }),
  refusal: Schema.NullOr(BuyingRefusal).annotate({
    description: "Why the user cannot buy it now; null: the user can.",
  }),
}).annotate({
  identifier: "ItemForUser",
  description: "An item, and whether a user can buy it.",
  examples: [itemForUser],
})

export const UserItems = Schema.Struct({
  userId: UserId,
  spendable: Schema.Record(Schema.String, Schema.Int).annotate({
    description:
      "What the user can spend now, by currency: the balances of spendable currencies without what is pending.",
    examples: [userItems.spendable],
  }),
  items: Schema.Array(ItemForUser).annotate({ description: "In the order of creation." }),
  ...pageFields("items"),
}).annotate({
  identifier: "UserItems",
  description: "A page of the items for a user.",
  examples: [userItems],
})

export const PurchasePreviewRequest = Schema.Struct({
  userId: UserId,
  item: NewItem,
  itemId: Schema.optionalKey(
    text(1, limits.idCharactersMax).annotate({
      description: "The item that the draft replaces; absent: it is a new one.",
      examples: [itemId],
    }),
  ),
}).annotate({
  identifier: "PurchasePreviewRequest",
  description: "A draft of an item, and a user who would buy it.",
  examples: [{ userId: "user-42", item: { name: "Streak freeze", price: { gems: 5 } } }],
})

export const PurchasePreview = Schema.Struct({
  userId: UserId,
  refusal: Schema.NullOr(BuyingRefusal).annotate({
    description: "Why the user could not buy it now; null: the user could.",
  }),
  purchase: Schema.NullOr(
    Schema.Struct({
      price: fields.price,
      xp: Earned,
      points: Earned,
      ...furtherOutcome,
      balances: Balances,
      level: LevelChange,
      badges: Schema.Array(EarnedBadge).annotate({
        description: "Badges that the user would earn with the purchase.",
      }),
    }).annotate({ identifier: "PreviewedPurchase" }),
  ).annotate({ description: "The outcome of the purchase; null: it would be refused." }),
}).annotate({
  identifier: "PurchasePreview",
  description: "What a purchase would do, if the draft were saved.",
  examples: [purchasePreview],
})

export const Items = HttpApiGroup.make("items")
  .add(
    ...definitionEndpoints({
      path: "/v1/items",
      params: pathOf("item", itemId),
      readers: OpenTo.clients,
      notFound: ItemNotFound,
      create: {
        payload: NewItem,
        success: Item,
        summary: "Create an item",
        description: `The reward counts for levels, badges and \`earnLimit\`, but scores in no window of a leaderboard, and no boost multiplies it. Without one, your app delivers the item, for example on the message \`item.purchased\`. Users buy it with \`POST /v1/users/{id}/purchases\` while it is active: from \`startsAt\` on, before \`endsAt\`, and, with a \`segment\`, as members of it. An environment holds at most ${limits.itemsMax} items that are not archived.`,
      },
      list: {
        query: listQuery("items"),
        success: ItemPage,
        summary: "List items",
        description:
          "Lists the items of the key's project and environment: all except archived ones, or all with the given status. Publishable keys see active and paused items that are for every user, and user tokens also those for a segment of their user.",
      },
      get: {
        success: ItemForSale,
        summary: "Read an item",
        description: "Returns an item by its id or key, with the units that are sold and left.",
      },
      update: {
        payload: ItemPatch,
        success: Item,
        error: [...writeProblems, ItemNotFound, ArchivedConflict],
        summary: "Change an item",
        description: `${patchWords}

The change applies to purchases from now on. A refund returns the price that was paid. What a user has bought counts for a new \`limit\`, too.

${statusWords}`,
      },
      delete: {
        success: HttpApiSchema.NoContent.annotate({ description: "The item is archived." }),
        error: [...readProblems, ItemNotFound, KeyInProgress],
        summary: "Archive an item",
        description:
          "The item is no longer for sale; purchases stay, and can be refunded. It still reads by its id or key and in the list with `status=archived`. Archiving twice returns 404.",
      },
    }),
  )
  .add(
    HttpApiEndpoint.post("preview", "/v1/items/preview", {
      payload: PurchasePreviewRequest,
      success: PurchasePreview,
      error: [...writeProblems, BuyerNotFound, DefinitionConflict, ChangeConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Try a draft of an item",
          description:
            "Returns the outcome that a purchase of the draft would have, or why it would be refused, and changes nothing. With `itemId` the draft replaces every member of that item but key and metadata, and the status if the draft has none; what was sold and bought of it counts. Faults of the draft have pointers below `/item`. An `Idempotency-Key` is ignored.",
        }),
      ),
    HttpApiEndpoint.get("ofUser", "/v1/users/:id/items", {
      params: { id: UserId },
      query: pageQuery("items"),
      success: UserItems,
      error: [...readProblems, UserNotFound],
    })
      .annotate(OpenTo, ["read", "user"])
      .annotate(UserNamed, ({ params }: RequestParts): string => params.id)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read the items for a user",
          description:
            "Lists the active and paused items that are for this user, with what the user can spend, and for each item whether the user can buy it now, and why not. It reserves nothing: a purchase may still be refused, for example if others buy the last units.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Items",
      description: "What users can buy, and the stock of it.",
    }),
  )
