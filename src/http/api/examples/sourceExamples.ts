/** Sources of events in replies. */
import { onlyPage, projectId, sourceId, time } from "./exampleIds.ts"

export const sourceMapping = {
  event: "checkout.session.completed",
  where: [{ path: "/data/object/payment_status", op: "eq", value: "paid" }],
  action: "ORDER_PAID",
  userId: "/data/object/client_reference_id",
  metadata: { amount: "/data/object/amount_total" },
} as const

export const source = {
  id: sourceId,
  key: "shop",
  description: null,
  metadata: {},
  status: "active",
  startsAt: null,
  endsAt: null,
  name: "Payments",
  kind: "stripe",
  mappings: [sourceMapping],
  version: 1,
  createdAt: time,
  updatedAt: time,
} as const

export const trackerRules = {
  unmapped: "ignored",
  traits: { displayName: "/name", attributes: { plan: "/company/plan" } },
} as const

export const sourcePath = `/v1/ingest/${projectId}/sandbox/${sourceId}`

export const secretState = { set: true, previousValidUntil: null } as const

export const sourceSecret = "3yqAqmzN0XZ1Jbh0dWcQm2Ff7Vd9tKxY"

export const addressedSource = { ...source, path: sourcePath, secretState } as const

export const createdSource = { ...addressedSource, secret: sourceSecret } as const

export const sourceFailure = {
  at: time,
  deliveryId: "evt_1SNxYz",
  event: "checkout.session.completed",
  mapping: 0,
  code: "invalid_request",
  detail: "/data/object/client_reference_id leads to nothing that is a user's id",
} as const

export const receipts = {
  since: time,
  deliveries: 12,
  events: 10,
  duplicates: 1,
  ignored: 1,
  refused: 1,
  forged: 0,
  lastReceivedAt: time,
  failures: [sourceFailure],
} as const

export const watchedSource = { ...addressedSource, receipts } as const

export const sourcePage = { sources: [addressedSource], ...onlyPage } as const

export const rotatedSourceSecret = {
  secret: sourceSecret,
  previousValidUntil: "2026-11-02T09:30:00.000Z",
} as const

export const sampleBody = {
  id: "evt_1SNxYz",
  type: "checkout.session.completed",
  created: 1_793_525_400,
  data: {
    object: { client_reference_id: "user-42", payment_status: "paid", amount_total: 1_900 },
  },
} as const

export const sourcePreview = {
  deliveryId: "evt_1SNxYz",
  event: "checkout.session.completed",
  results: [
    {
      mapping: 0,
      event: {
        userId: "user-42",
        action: "ORDER_PAID",
        id: "evt_1SNxYz:ORDER_PAID",
        occurredAt: time,
        metadata: { amount: 1_900 },
      },
      faults: [],
    },
  ],
} as const

export const previewedProfile = {
  userId: "user-42",
  displayName: "Ada",
  attributes: { plan: "pro" },
} as const

export const previewedMerge = { userId: "visitor-1", into: "user-42" } as const

export const sourceReply = { received: true, events: 1, duplicates: 0, refused: 0 } as const
