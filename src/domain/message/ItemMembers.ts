/** What the API shows of the item of a purchase, and of its price. */
import { Schema } from "effect"

const text = (description: string, example: string) =>
  Schema.String.annotate({ description, examples: [example] })
const count = (example: number, description: string) =>
  Schema.Int.annotate({ description, examples: [example] })

const item = {
  itemId: text("The item's id.", "itm_01a1fc1e64c07345932e273286b5ca30"),
  key: text("The item's key.", "streak-freeze"),
  name: text("The item's name.", "Streak freeze"),
}

export const purchased = {
  ...item,
  price: Schema.Record(Schema.String, Schema.Int).annotate({
    description: "What it cost, by currency.",
    examples: [{ gems: 5 }],
  }),
}

export const refunded = {
  ...item,
  price: Schema.Record(
    Schema.String,
    Schema.Struct({
      refunded: count(5, "Amount returned."),
      shortfall: count(0, "Amount not returned, since its events or rewards were revoked."),
    }).annotate({ identifier: "RefundedAmount" }),
  ).annotate({
    description: "What was returned of the price, by currency.",
    examples: [{ gems: { refunded: 5, shortfall: 0 } }],
  }),
}
