/** Items and purchases in replies. */
import { changes } from "./definitionExamples.ts"
import { exampleCursors, itemId, onlyPage, purchaseId, time, userId } from "./exampleIds.ts"

export const item = {
  id: itemId,
  key: "streak-freeze",
  name: "Streak freeze",
  description: "Covers a day without a lesson",
  status: "active",
  startsAt: null,
  endsAt: null,
  price: { gems: 5 },
  reward: { xp: 0, points: 0, badgeId: null, freezes: { daily: 1 } },
  limit: { times: 2, per: "week" },
  stock: 100,
  segment: null,
  metadata: { icon: "❄️" },
  ...changes,
} as const

export const itemForSale = { ...item, sold: 40, left: 60 } as const

export const itemPage = { items: [itemForSale], ...onlyPage } as const

export const itemForUser = {
  ...itemForSale,
  bought: 1,
  limitEndsAt: "2026-11-09T00:00:00.000Z",
  refusal: {
    code: "insufficient_balance",
    detail: "The user has 3 gems, 5 are needed.",
    missing: { gems: 2 },
  },
} as const

export const userItems = {
  userId,
  spendable: { points: 340, gems: 3 },
  items: [itemForUser],
  ...onlyPage,
} as const

const bought = { itemId, key: item.key, name: item.name, price: item.price } as const
const unchanged = { xp: { earned: 0, total: 1250 }, points: { earned: 0, total: 340 } } as const
const level = { before: 5, after: 5 } as const

export const purchase = {
  purchaseId,
  userId,
  ...bought,
  duplicate: false,
  ...unchanged,
  freezes: { daily: { earned: 1, total: 2 } },
  balances: { xp: 1250, points: 340, gems: 7 },
  level,
  badges: [],
} as const

const { duplicate: _, ...made } = purchase

const { purchaseId: _id, userId: _user, itemId: _item, key: _key, name: _name, ...previewed } = made

export const purchasePreview = { userId, refusal: null, purchase: previewed } as const

export const purchaseDetails = {
  ...made,
  id: "order-1001",
  purchasedAt: time,
  revoked: false,
  revokedAt: null,
} as const

export const purchasePage = {
  purchases: [purchaseDetails],
  hasMore: true,
  nextCursor: exampleCursors.purchases,
} as const

export const purchaseRevocation = {
  purchaseId,
  ...bought,
  price: { gems: { refunded: 5, shortfall: 0 } },
  userId,
  xp: { revoked: 0, total: 1250 },
  points: { revoked: 0, total: 340 },
  freezes: { daily: { revoked: 1, total: 1 } },
  balances: { xp: 1250, points: 340, gems: 12 },
  level,
  badges: [],
  quests: [],
  shortfall: { xp: 0, points: 0 },
} as const

export const causePurchase = {
  kind: "purchase",
  purchaseId,
  id: "order-1002",
  item: item.key,
} as const
