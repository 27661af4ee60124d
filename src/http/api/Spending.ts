/** Shapes of points that users spend. */
import { Schema } from "effect"
import { limits } from "../../Limits.ts"
import { callerId, integer, text } from "./Checks.ts"
import { UserId } from "./Common.ts"
import { refund, spend } from "./examples/Events.ts"
import { spendId } from "./examples/Ids.ts"

const SpendId = Schema.String.annotate({
  description: "Laurel's id of the spend.",
  examples: [spendId],
})

const spent = Schema.Int.annotate({ description: "Points spent.", examples: [120] })

export const NewSpend = Schema.Struct({
  amount: integer(1, limits.amountMax).annotate({
    description: "Points to spend.",
    examples: [120],
  }),
  reason: Schema.optionalKey(
    text(0, limits.reasonCharactersMax, "multiple").annotate({
      description: "Purpose of the spend, kept in the user's history.",
      examples: ["Streak freeze"],
    }),
  ),
  id: Schema.optionalKey(
    callerId.annotate({
      description:
        "Your id of this spend. Repeating the id of a spend of the same user changes nothing and returns the first outcome, also with another amount.",
      examples: ["order-1001"],
    }),
  ),
}).annotate({
  identifier: "NewSpend",
  description: "Points to spend.",
  examples: [{ amount: 120, reason: "Streak freeze", id: "order-1001" }],
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
      "Whether an earlier spend has this `id`. Nothing changed then, and the first outcome is returned.",
    examples: [false],
  }),
  points: Schema.Struct({
    spent,
    total: Schema.Int.annotate({ description: "Balance after this request.", examples: [180] }),
  }).annotate({ description: "Effect on the points." }),
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
}).annotate({
  identifier: "Refund",
  description: "The durable outcome of revoking a spend.",
  examples: [refund],
})
