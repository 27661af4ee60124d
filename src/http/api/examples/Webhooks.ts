/** Webhooks and their deliveries, as Laurel shows them. */
import { deliveryId, messageId, onlyPage, time, webhookId } from "./Ids.ts"

/** Signs nothing: the text `example-example-example-example-` in base64. */
export const secret = "whsec_ZXhhbXBsZS1leGFtcGxlLWV4YW1wbGUtZXhhbXBsZS0="

export const webhook = {
  id: webhookId,
  url: "https://example.com/laurel",
  events: ["xp.earned"],
  description: "Badges on the wall",
  status: "enabled",
  disabledReason: null,
  disabledAt: null,
  createdAt: time,
  updatedAt: time,
} as const

export const createdWebhook = { ...webhook, secret } as const

export const countedWebhook = {
  ...webhook,
  deliveries: { pending: 3, succeeded: 48_120, failed: 12, dropped: 0 },
  lastSuccessAt: time,
  failing: false,
} as const

export const webhookPage = { webhooks: [webhook], ...onlyPage } as const

export const rotatedSecret = {
  secret,
  previousSecretExpiresAt: "2026-11-02T09:30:00.000Z",
} as const

export const sent = { deliveryId, messageId } as const

export const recovery = {
  since: "2026-11-01T09:30:00.000Z",
  until: "2026-11-03T08:00:00.000Z",
} as const

const refused = {
  at: "2026-11-01T09:30:05.000Z",
  durationMs: 87,
  status: 503,
  error: null,
} as const
const unreached = {
  at: "2026-11-01T09:30:00.100Z",
  durationMs: 3,
  status: null,
  error: "connection_refused",
} as const

export const delivery = {
  id: deliveryId,
  messageId,
  type: "xp.earned",
  status: "pending",
  attempts: 2,
  nextAttemptAt: "2026-11-01T09:35:05.000Z",
  lastResponse: refused,
  dropReason: null,
  createdAt: time,
} as const

export const deliveryPage = { deliveries: [delivery], nextCursor: "d4e3i.0" } as const

export const deliveryDetails = {
  ...delivery,
  responses: [
    { ...unreached, body: "" },
    { ...refused, body: "try again later" },
  ],
} as const
