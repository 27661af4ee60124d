import { randomBytes } from "node:crypto"
import { Effect, Result } from "effect"
import { type Fault, invalidRequest } from "../../domain/Errors.ts"
import type { Webhook } from "../../domain/Webhook.ts"
import type { Engine } from "../../engine/Engine.ts"
import { parseWebhookUrl, type WebhookUrlPolicy } from "../../webhooks/WebhookUrl.ts"
import type { Webhooks } from "../api/Webhooks.ts"
import { makeId } from "../Ids.ts"
import type { Handlers } from "../Interpreter.ts"
import { factOf, isoTime, isProduction, pageInfo, pageItems, pageOf } from "./Shapes.ts"

export const webhookHandlers = (
  engine: Engine["Service"],
  policy: WebhookUrlPolicy,
): Handlers<typeof Webhooks> => ({
  create: {
    handle: ({ caller, idempotency, payload }) => {
      const parsed = parseWebhookUrl(payload.url, policy, isProduction(caller))
      if (Result.isFailure(parsed)) return Effect.fail(invalidRequest([urlFault(parsed.failure)]))
      const webhook = {
        id: makeId("whk"),
        url: parsed.success,
        events: [...new Set(payload.events)],
        description: payload.description ?? null,
        status: "enabled" as const,
        secret: `whsec_${randomBytes(secretBytes).toString("base64")}`,
      }
      const command = { kind: "createWebhook", webhook } as const
      const asked = engine.askProject(caller.environment, command, idempotency)
      return Effect.map(asked, ({ replayed, reply }) => {
        const created = factOf(reply, "webhook.created").webhook
        const body = { ...showWebhook(created), secret: created.secret }
        return { body, replayed, location: `/v1/webhooks/${body.id}` }
      })
    },
  },
  list: {
    handle: ({ caller, query }) =>
      Effect.map(engine.readProject(caller.environment), ({ webhooks }) => {
        const page = pageOf(query)
        const { items, total } = pageItems(webhooks.values(), page)
        return {
          body: { webhooks: items.map(showWebhook), ...pageInfo(page, total, items.length) },
        }
      }),
  },
})

const secretBytes = 32

const urlFault = (detail: string): Fault => ({ pointer: "/url", code: "invalid_value", detail })

const showWebhook = (webhook: Webhook) => ({
  id: webhook.id,
  url: webhook.url,
  events: webhook.events,
  description: webhook.description,
  status: webhook.status,
  createdAt: isoTime(webhook.createdAt),
})
