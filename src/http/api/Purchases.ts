/** Operations on purchases of items. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Balances, Earned, furtherOutcome, LevelChange } from "../../domain/message/FactMembers.ts"
import { limits } from "../../Limits.ts"
import {
  ApiKey,
  callerId,
  EarnedBadge,
  idempotencyHeaders,
  OpenTo,
  pageEndFields,
  pageQuery,
  type RequestParts,
  Time,
  text,
  UserId,
  UserNamed,
} from "./Common.ts"
import { revocation, revokedSince } from "./Events.ts"
import { itemId, purchaseId } from "./examples/exampleIds.ts"
import {
  item,
  purchase,
  purchaseDetails,
  purchasePage,
  purchaseRevocation,
} from "./examples/itemExamples.ts"
import {
  BodyTooLarge,
  BuyerNotFound,
  keyedProblems,
  PurchaseConflict,
  PurchaseNotFound,
  readProblems,
  UserNotFound,
  writeProblems,
} from "./Problems.ts"
import { undone } from "./Revocations.ts"
import { eitherId } from "./Users.ts"

const PurchaseId = Schema.String.annotate({
  description: "Laurel's id of the purchase.",
  examples: [purchaseId],
})

export const NewPurchase = Schema.Struct({
  item: text(1, limits.idCharactersMax).annotate({
    description: "The item's id or key.",
    examples: [item.key],
  }),
  id: Schema.optionalKey(
    callerId.annotate({
      description:
        "Your id of this purchase. Repeating a purchase of the same user with the same `item` changes nothing and returns the first outcome; another `item` is 409 `id_reused`.",
      examples: ["order-1001"],
    }),
  ),
}).annotate({
  identifier: "NewPurchase",
  description: "One unit of an item to buy.",
  examples: [{ item: item.key, id: "order-1001" }],
})

const bought = {
  itemId: Schema.String.annotate({ description: "Id of the item.", examples: [itemId] }),
  key: Schema.String.annotate({ description: "Key of the item.", examples: [item.key] }),
  name: Schema.String.annotate({
    description: "Name of the item at the purchase.",
    examples: [item.name],
  }),
}

const outcome = {
  purchaseId: PurchaseId,
  userId: UserId,
  ...bought,
  price: Schema.Record(Schema.String, Schema.Int).annotate({
    description: "What was taken, by currency.",
    examples: [item.price],
  }),
  xp: Earned,
  points: Earned,
  ...furtherOutcome,
  balances: Balances,
  level: LevelChange,
  badges: Schema.Array(EarnedBadge).annotate({
    description: "Badges that the user earned with the purchase.",
  }),
}

export const Purchase = Schema.Struct({
  ...outcome,
  duplicate: Schema.Boolean.annotate({
    description:
      "Whether an earlier purchase of the user has this `id`. Nothing changed then, and the first outcome is returned.",
    examples: [false],
  }),
  revoked: revokedSince("purchase"),
}).annotate({
  identifier: "Purchase",
  description:
    "The durable outcome of a purchase. `xp`, `points` and `currencies` tell what the item gave; `price` is apart.",
  examples: [purchase],
})

export const PurchaseDetails = Schema.Struct({
  ...outcome,
  id: Schema.NullOr(Schema.String).annotate({
    description: "The `id` that you sent with the purchase; null: none.",
    examples: ["order-1001"],
  }),
  purchasedAt: Time.annotate({ description: "When the item was bought." }),
  ...revocation,
}).annotate({
  identifier: "PurchaseDetails",
  description: "A purchase, with the balances after it.",
  examples: [purchaseDetails],
})

export const PurchasePage = Schema.Struct({
  purchases: Schema.Array(PurchaseDetails).annotate({
    description: "Newest first, revoked ones included.",
  }),
  ...pageEndFields("purchases"),
}).annotate({
  identifier: "PurchasePage",
  description: "A page of a user's purchases.",
  examples: [purchasePage],
})

export const PurchaseRevocation = Schema.Struct({
  purchaseId: PurchaseId,
  ...bought,
  price: Schema.Record(
    Schema.String,
    Schema.Struct({
      refunded: Schema.Int.annotate({ description: "Amount returned.", examples: [5] }),
      shortfall: Schema.Int.annotate({
        description:
          "Amount not returned, since the events or rewards that gave it were revoked after the purchase.",
        examples: [0],
      }),
    }),
  ).annotate({
    description: "What was returned of the price, by currency.",
    examples: [purchaseRevocation.price],
  }),
  ...undone,
}).annotate({
  identifier: "PurchaseRevocation",
  description:
    "The durable outcome of revoking a purchase. `xp`, `points`, `currencies` and the members after them tell what was revoked of what the item gave.",
  examples: [purchaseRevocation],
})

const params = { id: UserId }
const one = { ...params, purchaseId: eitherId("purchase", [purchaseId, "order-1001"]) }
const named = ({ params }: RequestParts): string => params.id

export const Purchases = HttpApiGroup.make("purchases")
  .add(
    HttpApiEndpoint.post("create", "/v1/users/:id/purchases", {
      params,
      headers: idempotencyHeaders,
      payload: NewPurchase,
      success: Purchase,
      error: [...writeProblems, BuyerNotFound, PurchaseConflict],
    })
      .annotate(OpenTo, ["user"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Buy an item",
          description:
            "Takes the price from the user's balances, and gives the reward of the item, whole or not at all; a refused purchase changes nothing. 409 `item_not_active`: it is not for sale now. 409 `not_in_segment`: it is not for this user. 409 `limit_reached`: the user has bought as many as `limit` permits. 409 `sold_out`: no unit is left; the last one goes to one buyer. 409 `insufficient_balance` names each balance that is too small. An `id` that the user has used for a purchase changes nothing: with the same `item` the reply is the first outcome with `duplicate: true`, with another 409 `id_reused`. A user token buys for its user, if it was made with the scope `purchases`. Replies once the outcome is on disk.",
        }),
      ),
    HttpApiEndpoint.get("list", "/v1/users/:id/purchases", {
      params,
      query: pageQuery("purchases"),
      success: PurchasePage,
      error: [...readProblems, UserNotFound],
    })
      .annotate(OpenTo, ["read", "user"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "List a user's purchases",
          description:
            "Lists the purchases of the user, newest first, as far as the journal has them.",
        }),
      ),
    HttpApiEndpoint.get("get", "/v1/users/:id/purchases/:purchaseId", {
      params: one,
      success: PurchaseDetails,
      error: [...readProblems, PurchaseNotFound],
    })
      .annotate(OpenTo, ["read", "user"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a purchase",
          description:
            "Returns a purchase, and whether it was revoked. Returns 404 for a purchase of another user or environment, of an erased user, whose record was deleted by the retention of the history, and for an id that was never used. The reply is the same in all these cases.",
        }),
      ),
    HttpApiEndpoint.delete("revoke", "/v1/users/:id/purchases/:purchaseId", {
      params: one,
      headers: idempotencyHeaders,
      success: PurchaseRevocation,
      error: [...readProblems, ...keyedProblems, PurchaseNotFound, BodyTooLarge],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Refund a purchase",
          description:
            "Returns the price to the balances and the unit to the stock, and takes back what the item gave. The price is returned first, above a currency's `max` too, to the lots that it was taken from. No balance goes below 0: `shortfall` has what the user has spent of the reward. The unit no longer counts for the user's `limit`. Refunding twice returns 404 with `revokedAt`, and changes nothing; a retry with the `Idempotency-Key` of the first request returns its reply.",
        }),
      ),
  )
  .annotateEndpoints(UserNamed, named)
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({ title: "Purchases", description: "Items that users have bought." }),
  )
