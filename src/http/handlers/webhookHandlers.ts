import { Effect, Result } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import { makeId } from "../../accounts/KeyText.ts"
import { messageId } from "../../domain/message/Message.ts"
import { describeMessage } from "../../domain/message/MessageCatalogue.ts"
import { messageKinds } from "../../domain/message/MessageKind.ts"
import type { Webhook } from "../../domain/project/Project.ts"
import {
  type Fault,
  invalidRequest,
  type LaurelError,
  laurelError,
} from "../../domain/values/Errors.ts"
import { isoTime, isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { DeliveryLog } from "../../webhooks/DeliveryLog.ts"
import { makeSecret } from "../../webhooks/send/Signature.ts"
import {
  type AttemptResult,
  type Delivery,
  deliveryId,
  type LogPlace,
  messageOfDelivery,
} from "../../webhooks/store/Delivery.ts"
import type { EndpointStats } from "../../webhooks/store/DeliveryStore.ts"
import { parseWebhookUrl, type WebhookUrlPolicy } from "../../webhooks/WebhookUrl.ts"
import type { Catalogue, NewWebhook, WebhookPatch, Webhooks } from "../api/Webhooks.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { askPrepared } from "./askPrepared.ts"
import { definitionOperations } from "./definitionOperations.ts"
import { factOf, foundOr, isProduction, memberOf, named, pageAsked } from "./Shapes.ts"

export interface WebhookParts {
  readonly engine: Engine["Service"]
  readonly deliveries: DeliveryLog["Service"]
  readonly urls: WebhookUrlPolicy
  /** The maximum number of webhooks of an environment. */
  readonly webhooksMax: number
}

export const webhookHandlers = (parts: WebhookParts): Handlers<typeof Webhooks> => ({
  ...webhookOperations(parts),
  ...sendHandlers(parts),
  ...deliveryHandlers(parts),
  catalogue: { handle: () => Effect.succeed({ body: catalogue }) },
})

const webhookOperations = ({ deliveries, engine, urls, webhooksMax }: WebhookParts) =>
  definitionOperations(engine, {
    plural: "webhooks",
    definitionsOf: ({ webhooks }) => webhooks,
    notFound: webhookNotFound,
    moreFaults: (body, caller) => {
      const url = memberOf(body, "url")
      if (typeof url !== "string") return []
      const parsed = parseWebhookUrl(url, urls, isProduction(caller))
      return Result.isFailure(parsed) ? parsed.failure.map(urlFault) : []
    },
    showListed: () => Effect.succeed(showWebhook),
    showFound: (webhook: ShownWebhook, { environment }) =>
      Effect.map(deliveries.stats(environment, webhook.id), (stats) => ({
        ...showWebhook(webhook),
        ...showStats(stats),
      })),
    create: ({ description, events, url }: typeof NewWebhook.Type, caller) =>
      Effect.map(allowedUrl(urls, caller, url), (allowed) => {
        const webhook = {
          id: makeId("whk"),
          url: allowed,
          events: [...new Set(events)],
          description: description ?? null,
          secret: makeSecret(),
        }
        return { kind: "createWebhook", webhook, webhooksMax } as const
      }),
    showCreated: (record) => {
      const { webhook } = factOf(record, "webhook.created")
      return { ...showWebhook(webhook), secret: webhook.secret }
    },
    update: (webhookId, { description, events, status, url }: typeof WebhookPatch.Type, caller) =>
      Effect.map(
        url === undefined ? Effect.succeed(undefined) : allowedUrl(urls, caller, url),
        (allowed) => {
          const change = named({
            description,
            status,
            events: events && [...new Set(events)],
            url: allowed,
          })
          return { kind: "updateWebhook", webhookId, change } as const
        },
      ),
    showUpdated: (record) => showWebhook(factOf(record, "webhook.updated").webhook),
    delete: (webhookId) => ({ kind: "deleteWebhook", webhookId }) as const,
  })

/** The URL in the form in which it is kept. Fails if the server may not send messages to it. */
const allowedUrl = (
  urls: WebhookUrlPolicy,
  caller: Caller,
  url: string,
): Effect.Effect<string, LaurelError<"invalid_request">> => {
  const parsed = parseWebhookUrl(url, urls, isProduction(caller))
  return Result.isFailure(parsed)
    ? Effect.fail(invalidRequest(parsed.failure.map(urlFault)))
    : Effect.succeed(parsed.success)
}

/** Secrets, and messages sent on request. */
const sendHandlers = ({
  engine,
}: WebhookParts): Pick<Handlers<typeof Webhooks>, "recover" | "rotateSecret" | "test"> => ({
  rotateSecret: {
    handle: ({ caller, idempotency, params, payload }) => {
      const command = {
        kind: "rotateWebhookSecret",
        webhookId: params.id,
        secret: makeSecret(),
        graceSeconds: payload.graceSeconds ?? limits.webhookGraceSeconds,
      } as const
      const asked = engine.askProject(caller.environment, command, idempotency)
      return Effect.map(asked, ({ replayed, reply }) => {
        const { previousSecret, secret } = factOf(reply, "webhook.updated").webhook
        const previousSecretExpiresAt = isoTimeOrNull(previousSecret?.until ?? null)
        return { body: { secret, previousSecretExpiresAt }, replayed }
      })
    },
  },
  test: {
    handle: ({ caller, idempotency, params }) => {
      const command = { kind: "testWebhook", webhookId: params.id } as const
      const asked = engine.askProject(caller.environment, command, idempotency)
      return Effect.map(asked, ({ replayed, reply }) => ({
        body: sent({ ...reply, index: 0 }),
        replayed,
      }))
    },
  },
  recover: {
    handle: ({ caller, idempotency, params, payload }) => {
      const since = Date.parse(payload.since)
      const command = { kind: "recoverWebhook", webhookId: params.id, since } as const
      const prepared = Effect.suspend(() =>
        since > engine.now() ? Effect.fail(inFuture) : Effect.succeed(command),
      )
      const asked = askPrepared(engine, caller, prepared, idempotency)
      return Effect.map(asked, ({ replayed, reply }) => {
        const recovered = factOf(reply, "webhook.recovered")
        return { body: { since: isoTime(recovered.since), until: isoTime(reply.at) }, replayed }
      })
    },
  },
})

/** The delivery log. */
const deliveryHandlers = ({
  deliveries,
  engine,
}: WebhookParts): Pick<Handlers<typeof Webhooks>, "deliveries" | "delivery" | "redeliver"> => {
  const webhookOf = ({ environment }: Caller, id: string) =>
    Effect.flatMap(engine.readProject(environment), ({ webhooks }) =>
      foundOr(webhooks.get(id), webhookNotFound),
    )

  const deliveryOf = Effect.fnUntraced(function* (caller: Caller, webhookId: string, id: string) {
    yield* webhookOf(caller, webhookId)
    const name = messageOfDelivery(id)
    const found = name && (yield* deliveries.find(caller.environment, webhookId, name))
    return yield* foundOr(found, deliveryNotFound)
  })

  return {
    deliveries: {
      handle: ({ caller, params: { id }, query }) =>
        Effect.gen(function* () {
          const { environment } = caller
          const { status } = query
          yield* webhookOf(caller, id)
          const { after, end, limit } = yield* pageAsked(
            "deliveries",
            environment,
            { id, status },
            query,
          )
          const before = after && { sequence: after[0], index: after[1] }
          const found = yield* deliveries.list(environment, id, { status, before, limit })
          const shown = found.deliveries.map(showDelivery)
          return { body: { deliveries: shown, ...end(found.next && placeOf(found.next)) } }
        }),
    },
    delivery: {
      handle: ({ caller, params }) =>
        Effect.gen(function* () {
          const found = yield* deliveryOf(caller, params.id, params.deliveryId)
          const text = yield* deliveries.message(found.delivery)
          const responses = found.attempts.map((attempt) => ({
            ...showResponse(attempt),
            body: attempt.body,
          }))
          const message = text === undefined ? null : JSON.parse(text)
          return { body: { ...showDelivery(found.delivery), responses, message } }
        }),
    },
    redeliver: {
      handle: ({ caller, idempotency, params }) => {
        const prepared = Effect.gen(function* () {
          const { delivery } = yield* deliveryOf(caller, params.id, params.deliveryId)
          const standing = yield* deliveries.standing(delivery)
          if (standing !== "kept") return yield* Effect.fail(notKept[standing])
          const { at, index, sequence } = delivery
          return { kind: "redeliver", webhookId: params.id, sequence, at, index } as const
        })
        const asked = askPrepared(engine, caller, prepared, idempotency)
        return Effect.map(asked, ({ replayed, reply }) => {
          return { body: sent(factOf(reply, "webhook.redelivered")), replayed }
        })
      },
    },
  }
}

const catalogue = { kinds: messageKinds.map(describeMessage) } as unknown as typeof Catalogue.Type

const urlFault = (detail: string): Fault => ({ pointer: "/url", code: "invalid_value", detail })

const webhookNotFound = laurelError("webhook_not_found", "No webhook of this project has this id.")
const deliveryNotFound = laurelError(
  "delivery_not_found",
  "The webhook's log has no delivery with this id, or no longer has it.",
)
const notKept = {
  gone: laurelError("gone", "The journal no longer has the message."),
  erased: laurelError("gone", "The message's user was erased."),
}
const inFuture = invalidRequest([
  { pointer: "/since", code: "out_of_range", detail: "must not lie in the future" },
])

type ShownWebhook = Omit<Webhook, "since">

const showWebhook = (webhook: ShownWebhook) => ({
  id: webhook.id,
  url: webhook.url,
  events: webhook.events,
  description: webhook.description,
  status: webhook.status,
  disabledReason: webhook.disabledReason,
  disabledAt: isoTimeOrNull(webhook.disabledAt),
  version: webhook.version,
  createdAt: isoTime(webhook.createdAt),
  updatedAt: isoTime(webhook.updatedAt),
})

const showStats = (stats: EndpointStats | undefined) => ({
  deliveries: {
    pending: stats?.stored.pending ?? 0,
    succeeded: stats?.ended.succeeded ?? 0,
    failed: stats?.ended.failed ?? 0,
    dropped: stats?.ended.dropped ?? 0,
  },
  lastSuccessAt: isoTimeOrNull(stats?.succeededAt || null),
  failing: (stats?.failedAt ?? 0) > 0,
})

const sent = (name: Parameters<typeof messageId>[0]) => ({
  deliveryId: deliveryId(name),
  messageId: messageId(name),
})

const placeOf = ({ index, sequence }: LogPlace) => [sequence, index] as const

const showDelivery = (delivery: Delivery) => ({
  id: deliveryId(delivery),
  messageId: delivery.messageId,
  type: delivery.kind,
  status: delivery.status,
  attempts: delivery.attempts,
  nextAttemptAt: delivery.status === "pending" ? isoTime(delivery.dueAt) : null,
  lastResponse: delivery.last === null ? null : showResponse(delivery.last),
  dropReason: delivery.reason,
  createdAt: isoTime(delivery.at),
})

const showResponse = ({ at, durationMs, error, status }: AttemptResult) => ({
  at: isoTime(at),
  durationMs,
  status,
  error,
})
