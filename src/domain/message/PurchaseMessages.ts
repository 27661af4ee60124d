/** The messages of purchases: the schemas of their data, and examples. */
import { Schema } from "effect"
import { factMembers } from "./FactMembers.ts"

const purchaseId = Schema.String.annotate({ description: "Laurel's id of the purchase." })

/** The members of `data`, besides those of every message of a user. */
export const purchaseData = {
  purchased: { purchaseId, ...factMembers["item.purchased"] },
  refunded: { purchaseId, ...factMembers["item.refunded"] },
}

const examplePurchaseId = "pur_0mi8k3f2a4c92"

const item = {
  itemId: "itm_01a1fc1e64c07345932e273286b5ca30",
  key: "streak-freeze",
  name: "Streak freeze",
}

const level = { before: 5, after: 5 }

const examples = {
  purchased: {
    cause: { kind: "purchase", id: examplePurchaseId },
    purchaseId: examplePurchaseId,
    ...item,
    price: { gems: 5 },
    xp: { earned: 0, total: 1_250 },
    points: { earned: 0, total: 340 },
    freezes: { daily: { earned: 1, total: 2 } },
    level,
    balances: { xp: 1_250, points: 340, gems: 7 },
  },
  refunded: {
    cause: { kind: "revocation", id: examplePurchaseId },
    purchaseId: examplePurchaseId,
    ...item,
    price: { gems: { refunded: 5, shortfall: 0 } },
    xp: { earned: 0, total: 1_250 },
    points: { earned: 0, total: 340 },
    currencies: {},
    capped: [],
    freezes: { daily: { earned: -1, total: 1 } },
    goals: [],
    level,
    levels: {},
    balances: { xp: 1_250, points: 340, gems: 12 },
    shortfall: { xp: 0, points: 0 },
    expired: {},
    pending: [],
  },
} as const

/**
 * When each is sent, with an example. `of`: the members of every message of a user; `further`: those
 * of what was earned in other currencies, freezes and boosts.
 */
export const purchaseEntries = <Of, Further>(of: Of, further: Further) => ({
  "item.purchased": {
    description: "A user bought an item. What the item paid has messages of its own, too.",
    example: { ...of, ...further, ...examples.purchased },
  },
  "item.refunded": {
    description: "A purchase was revoked: the price was returned, and the reward revoked.",
    example: { ...of, ...examples.refunded },
  },
})
