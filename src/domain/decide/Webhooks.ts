/** Decides commands on webhooks. The HTTP layer checks their addresses. */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import type { ProjectState } from "../project/Project.ts"
import type { DisabledReason, Webhook } from "../project/Webhook.ts"
import { refuse } from "../values/Errors.ts"
import { type Decided, quotaExceeded } from "./Decided.ts"

export type WebhookChange = Partial<Pick<Webhook, "url" | "events" | "description" | "status">>

export type WebhookCommand =
  | {
      readonly kind: "createWebhook"
      readonly webhook: Pick<Webhook, "id" | "url" | "events" | "description" | "secret">
    }
  | { readonly kind: "updateWebhook"; readonly webhookId: string; readonly change: WebhookChange }
  | { readonly kind: "deleteWebhook"; readonly webhookId: string }
  /** The previous secret also signs for `graceSeconds`; 0 expires all earlier secrets. */
  | {
      readonly kind: "rotateWebhookSecret"
      readonly webhookId: string
      readonly secret: string
      readonly graceSeconds: number
    }
  /** Laurel disables the webhook. */
  | {
      readonly kind: "disableWebhook"
      readonly webhookId: string
      readonly reason: Exclude<DisabledReason, "manual">
    }
  | { readonly kind: "testWebhook"; readonly webhookId: string }
  | {
      readonly kind: "redeliver"
      readonly webhookId: string
      readonly sequence: number
      readonly at: number
      readonly index: number
    }
  /** `since`: epoch milliseconds. */
  | { readonly kind: "recoverWebhook"; readonly webhookId: string; readonly since: number }

export const decideWebhook = (
  state: ProjectState,
  command: WebhookCommand,
  now: number,
): Decided => {
  if (command.kind === "createWebhook") {
    if (state.webhooks.size >= limits.webhooksMax) return tooMany
    const webhook = {
      ...command.webhook,
      status: "enabled",
      disabledReason: null,
      disabledAt: null,
      previousSecret: null,
      createdAt: now,
      updatedAt: now,
    } as const
    return Result.succeed([{ kind: "webhook.created", webhook }])
  }
  const webhook = state.webhooks.get(command.webhookId)
  return webhook === undefined ? notFound : decideOf(webhook, command, now)
}

const decideOf = (
  webhook: Webhook,
  command: Exclude<WebhookCommand, { readonly kind: "createWebhook" }>,
  now: number,
): Decided => {
  const webhookId = webhook.id
  switch (command.kind) {
    case "updateWebhook":
      return updated({ ...webhook, ...changed(webhook, command.change, now) }, now)
    case "deleteWebhook":
      return Result.succeed([{ kind: "webhook.deleted", webhookId }])
    case "rotateWebhookSecret":
      return rotated(webhook, command, now)
  }
  if (webhook.status === "disabled") return disabled
  switch (command.kind) {
    case "disableWebhook": {
      const { reason } = command
      const { description } = webhook
      return Result.succeed([{ kind: "webhook.disabled", webhookId, description, reason }])
    }
    case "testWebhook":
      return Result.succeed([{ kind: "webhook.tested", webhookId }])
    case "redeliver": {
      const { at, index, sequence } = command
      return Result.succeed([{ kind: "webhook.redelivered", webhookId, sequence, at, index }])
    }
    case "recoverWebhook":
      return Result.succeed([{ kind: "webhook.recovered", webhookId, since: command.since }])
  }
}

const rotated = (
  { olderSecrets = [], previousSecret, ...webhook }: Webhook,
  { graceSeconds, secret }: Extract<WebhookCommand, { readonly kind: "rotateWebhookSecret" }>,
  now: number,
): Decided => {
  if (graceSeconds === 0) return updated({ ...webhook, secret, previousSecret: null }, now)
  const older = [...(previousSecret === null ? [] : [previousSecret]), ...olderSecrets].filter(
    ({ until }) => until > now,
  )
  if (older.length + 2 > limits.webhookSecretsMax) return tooManySecrets
  const replaced = { secret: webhook.secret, until: now + graceSeconds * 1_000 }
  const changed = { ...webhook, secret, previousSecret: replaced }
  return updated(older.length === 0 ? changed : { ...changed, olderSecrets: older }, now)
}

const changed = (webhook: Webhook, change: WebhookChange, now: number): Partial<Webhook> => {
  const { status } = change
  if (status === undefined || status === webhook.status) return change
  return status === "enabled"
    ? { ...change, disabledReason: null, disabledAt: null }
    : { ...change, disabledReason: "manual", disabledAt: now }
}

const updated = (webhook: Webhook, now: number): Decided =>
  Result.succeed([{ kind: "webhook.updated", webhook: { ...webhook, updatedAt: now } }])

const tooMany: Decided = quotaExceeded(limits.webhooksMax, "webhooks")
const tooManySecrets: Decided = refuse(
  "quota_exceeded",
  `A webhook has at most ${limits.webhookSecretsMax} active secrets. Wait until one ends, or end all previous ones with graceSeconds 0.`,
)
const notFound: Decided = refuse("webhook_not_found", "No webhook of this project has this id.")
const disabled: Decided = refuse("webhook_disabled", "The webhook is disabled; enable it first.")
