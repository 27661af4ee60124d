/** Shapes of spends and refunds of points and other currencies. */
import { Schema } from "effect"
import { furtherOutcome, Repaired } from "../../domain/message/FactMembers.ts"
import { limits } from "../../Limits.ts"
import { callerId, faultAt, integer, text, UserId } from "./Common.ts"
import { amountsBy } from "./DefinitionShapes.ts"
import { revokedSince } from "./Events.ts"
import { spendId } from "./examples/exampleIds.ts"
import { refund, spend } from "./examples/userExamples.ts"

const SpendId = Schema.String.annotate({
  description: "Laurel's id of the spend.",
  examples: [spendId],
})

const spent = Schema.Int.annotate({ description: "Points spent; 0 if none.", examples: [120] })

const aboutSpend = {
  reason: Schema.optionalKey(
    text(0, limits.reasonCharactersMax, "multiple").annotate({
      description: "Purpose of the spend, kept in the user's history.",
      examples: ["Streak freeze"],
    }),
  ),
  id: Schema.optionalKey(
    callerId.annotate({
      description:
        "Your id of this spend. Repeating a spend of the same user with the same content changes nothing and returns the first outcome; another amount or reason is 409 `id_reused`.",
      examples: ["order-1001"],
    }),
  ),
}

/** A spend has an amount of points or amounts by currency, and not both. */
const eitherAmount = ({ amount, currencies }: { amount?: unknown; currencies?: unknown }) => {
  if (amount !== undefined && currencies !== undefined) {
    const detail = "must not be sent together with amount: add points to it instead"
    return [faultAt(["currencies"], "unknown_member", detail)]
  }
  return amount === undefined && currencies === undefined
    ? [faultAt(["amount"], "missing", "is required, or currencies")]
    : []
}

export const NewSpend = Schema.Struct({
  amount: Schema.optionalKey(
    integer(1, limits.amountMax).annotate({
      description: "Points to spend. Either this or `currencies` is required.",
      examples: [120],
    }),
  ),
  currencies: Schema.optionalKey(
    amountsBy(integer(1, limits.amountMax)).annotate({
      description:
        "Amounts to spend by currency, `points` included: all of them, or nothing. Instead of `amount`.",
      examples: [{ gems: 3, points: 2 }],
    }),
  ),
  ...aboutSpend,
})
  .check(Schema.makeFilter(eitherAmount, { toJsonSchema: () => [{}, true] }))
  .annotate({
    identifier: "NewSpend",
    description: "Points to spend, or amounts of several currencies.",
    examples: [
      { amount: 120, reason: "Streak freeze", id: "order-1001" },
      { currencies: { gems: 3, points: 2 } },
    ],
  })

/** What a request says about the repair of a streak. */
export const NewRepair = Schema.Struct(aboutSpend).annotate({
  identifier: "NewRepair",
  description: "The repair of a streak.",
  examples: [{ id: "repair-1" }],
})

export const Spend = Schema.Struct({
  spendId: SpendId,
  userId: UserId,
  amount: spent,
  reason: Schema.NullOr(Schema.String).annotate({
    description: "The reason sent with the spend.",
    examples: ["Streak freeze"],
  }),
  duplicate: Schema.Boolean.annotate({
    description:
      "Whether an earlier spend of the user has this `id`. Nothing changed then, and the first outcome is returned.",
    examples: [false],
  }),
  revoked: revokedSince("spend"),
  points: Schema.Struct({
    spent,
    total: Schema.Int.annotate({ description: "Balance after this request.", examples: [180] }),
  }).annotate({ description: "Effect on the points." }),
  currencies: Schema.optionalKey(
    Schema.Record(
      Schema.String,
      Schema.Struct({
        spent: Schema.Int.annotate({ description: "Amount spent.", examples: [3] }),
        total: Schema.Int.annotate({ description: "Balance after this request.", examples: [9] }),
      }),
    ).annotate({
      description: "Effect on further currencies, by key. Absent: none.",
      examples: [{ gems: { spent: 3, total: 9 } }],
    }),
  ),
  balances: furtherOutcome.balances,
  repaired: Schema.optionalKey(Repaired),
}).annotate({
  identifier: "Spend",
  description: "The durable outcome of a spend.",
  examples: [spend],
})

export const Refund = Schema.Struct({
  spendId: SpendId,
  userId: UserId,
  points: Schema.Struct({
    refunded: Schema.Int.annotate({
      description: "Points returned to the balance.",
      examples: [120],
    }),
    total: Schema.Int.annotate({ description: "Balance after this request.", examples: [300] }),
  }).annotate({ description: "Effect on the points." }),
  shortfall: Schema.Struct({
    points: Schema.Int.annotate({
      description:
        "Points not returned, since the events or rewards that gave them were revoked after the spend.",
      examples: [0],
    }),
  }).annotate({ description: "Amounts that could not be refunded." }),
  currencies: Schema.optionalKey(
    Schema.Record(
      Schema.String,
      Schema.Struct({
        refunded: Schema.Int.annotate({ description: "Amount returned.", examples: [3] }),
        total: Schema.Int.annotate({ description: "Balance after this request.", examples: [12] }),
        shortfall: Schema.Int.annotate({ description: "Amount not returned.", examples: [0] }),
      }),
    ).annotate({
      description: "Effect on further currencies, by key. Absent: none.",
      examples: [{ gems: { refunded: 3, total: 12, shortfall: 0 } }],
    }),
  ),
  balances: furtherOutcome.balances,
  repairUndone: Schema.optionalKey(Repaired),
}).annotate({
  identifier: "Refund",
  description: "The durable outcome of revoking a spend.",
  examples: [refund],
})
