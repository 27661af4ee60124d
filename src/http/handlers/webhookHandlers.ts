import { Effect, Result } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import { makeId } from "../../accounts/KeyText.ts"
import type { ProjectCommand, ProjectRefusals } from "../../domain/decide/Project.ts"
import { messageId } from "../../domain/message/Message.ts"
import { describeMessage } from "../../domain/message/MessageData.ts"
import { messageKinds } from "../../domain/message/MessageKind.ts"
import type { Webhook } from "../../domain/project/Project.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import {
  type ErrorCode,
  type Fault,
  invalidRequest,
  type LaurelError,
  laurelError,
} from "../../domain/values/Errors.ts"
import { isoTime, isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { Answer, Engine, Idempotency, ProjectCode } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { DeliveryLog } from "../../webhooks/DeliveryLog.ts"
import { makeSecret } from "../../webhooks/send/Signature.ts"
import {
  type AttemptResult,
  type Delivery,
  deliveryId,
  messageOfDelivery,
} from "../../webhooks/store/Delivery.ts"
import { parseWebhookUrl, type WebhookUrlPolicy } from "../../webhooks/WebhookUrl.ts"
import type { Catalogue, Webhooks } from "../api/Webhooks.ts"
import { deliveryCursor, deliveryPlaceOf } from "../api/Webhooks.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { factOf, foundOr, isProduction, named, pageItems } from "./Shapes.ts"

/**
 * Asks the project what `prepared` makes of the request, which may refuse it for what the engine does not see. For
 * a repeat under the same Idempotency-Key that is not looked at again: it has the first answer. A refusal of
 * `prepared` is no answer that is kept.
 */
const askPrepared = <Command extends ProjectCommand, Code extends ErrorCode>(
  engine: Engine["Service"],
  { environment }: Caller,
  prepared: Effect.Effect<Command, LaurelError<Code>>,
  idempotency: Idempotency | undefined,
): Effect.Effect<Answer<JournalRecord>, LaurelError<Code | ProjectCode<Command, Idempotency>>> => {
  const ask = (reserved?: Idempotency) =>
    Effect.flatMap(prepared, (command) => engine.askProject(environment, command, reserved))
  if (idempotency === undefined) return ask()
  const reserved = engine.reserve<ProjectRefusals[Command["kind"]]>(environment, idempotency)
  return Effect.flatMap(reserved, (reservation) => {
    if (!reservation.fresh) return Effect.succeed({ reply: reservation.record, replayed: true })
    // A caller that goes away must not free the key while the command runs.
    return Effect.uninterruptible(
      Effect.ensuring(ask({ ...idempotency, reserved: true }), Effect.sync(reservation.release)),
    )
  })
}

export interface WebhookParts {
  readonly engine: Engine["Service"]
  readonly deliveries: DeliveryLog["Service"]
  readonly urls: WebhookUrlPolicy
  /** How many an environment may have. */
  readonly webhooksMax: number
}

export const webhookHandlers = ({
  deliveries,
  engine,
  urls,
  webhooksMax,
}: WebhookParts): Handlers<typeof Webhooks> => {
  const webhookOf = ({ environment }: Caller, id: string) =>
    Effect.flatMap(engine.readProject(environment), ({ webhooks }) =>
      foundOr(webhooks.get(id), webhookNotFound),
    )

  /** The URL as it is kept, when messages may be sent there. */
  const allowedUrl = (
    caller: Caller,
    url: string,
  ): Effect.Effect<string, LaurelError<"invalid_request">> => {
    const parsed = parseWebhookUrl(url, urls, isProduction(caller))
    return Result.isFailure(parsed)
      ? Effect.fail(invalidRequest(parsed.failure.map(urlFault)))
      : Effect.succeed(parsed.success)
  }

  const urlFaults = (body: unknown, caller: Caller): ReadonlyArray<Fault> => {
    const url = (body as { readonly url?: unknown } | null)?.url
    if (typeof url !== "string") return []
    const parsed = parseWebhookUrl(url, urls, isProduction(caller))
    return Result.isFailure(parsed) ? parsed.failure.map(urlFault) : []
  }

  const deliveryOf = Effect.fnUntraced(function* (caller: Caller, webhookId: string, id: string) {
    yield* webhookOf(caller, webhookId)
    const name = messageOfDelivery(id)
    const found = name && (yield* deliveries.find(caller.environment, webhookId, name))
    return yield* foundOr(found, deliveryNotFound)
  })

  return {
    create: {
      moreFaults: urlFaults,
      handle: ({ caller, idempotency, payload }) => {
        const prepared = Effect.map(allowedUrl(caller, payload.url), (url) => {
          const webhook = {
            id: makeId("whk"),
            url,
            events: [...new Set(payload.events)],
            description: payload.description ?? null,
            secret: makeSecret(),
          }
          return { kind: "createWebhook", webhook, webhooksMax } as const
        })
        const asked = askPrepared(engine, caller, prepared, idempotency)
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
          const { items, page } = pageItems(webhooks.values(), query, showWebhook)
          return { body: { webhooks: items, ...page } }
        }),
    },
    get: {
      handle: ({ caller, params }) =>
        Effect.gen(function* () {
          const webhook = yield* webhookOf(caller, params.id)
          const stats = yield* deliveries.stats(caller.environment, params.id)
          const counts = {
            pending: stats?.stored.pending ?? 0,
            succeeded: stats?.ended.succeeded ?? 0,
            failed: stats?.ended.failed ?? 0,
            dropped: stats?.ended.dropped ?? 0,
          }
          const lastSuccessAt = isoTimeOrNull(stats?.succeededAt || null)
          const failing = (stats?.failedAt ?? 0) > 0
          return { body: { ...showWebhook(webhook), deliveries: counts, lastSuccessAt, failing } }
        }),
    },
    update: {
      moreFaults: urlFaults,
      handle: ({ caller, params, payload }) =>
        Effect.gen(function* () {
          const { description, events, status, url } = payload
          const change = named({
            description,
            status,
            events: events && [...new Set(events)],
            url: url === undefined ? undefined : yield* allowedUrl(caller, url),
          })
          const command = { kind: "updateWebhook", webhookId: params.id, change } as const
          const { reply } = yield* engine.askProject(caller.environment, command)
          return { body: showWebhook(factOf(reply, "webhook.updated").webhook) }
        }),
    },
    delete: {
      handle: ({ caller, params }) => {
        const command = { kind: "deleteWebhook", webhookId: params.id } as const
        return Effect.as(engine.askProject(caller.environment, command), { body: undefined })
      },
    },
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
    deliveries: {
      handle: ({ caller, params, query: { cursor, limit = limits.pageDefault, status } }) =>
        Effect.gen(function* () {
          yield* webhookOf(caller, params.id)
          const before = cursor === undefined ? undefined : deliveryPlaceOf(cursor)
          const page = { status, before, limit }
          const found = yield* deliveries.list(caller.environment, params.id, page)
          const nextCursor = found.next === undefined ? null : deliveryCursor(found.next)
          return { body: { deliveries: found.deliveries.map(showDelivery), nextCursor } }
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
    catalogue: { handle: () => Effect.succeed({ body: catalogue }) },
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

const showWebhook = (webhook: Omit<Webhook, "since">) => ({
  id: webhook.id,
  url: webhook.url,
  events: webhook.events,
  description: webhook.description,
  status: webhook.status,
  disabledReason: webhook.disabledReason,
  disabledAt: isoTimeOrNull(webhook.disabledAt),
  createdAt: isoTime(webhook.createdAt),
  updatedAt: isoTime(webhook.updatedAt),
})

const sent = (name: Parameters<typeof messageId>[0]) => ({
  deliveryId: deliveryId(name),
  messageId: messageId(name),
})

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
