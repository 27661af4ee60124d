/** Decides the commands on webhooks. The HTTP layer checks the URLs. */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import { firstVersion, nextVersion } from "../project/Definition.ts"
import type { DisabledReason, ProjectState, Webhook } from "../project/Project.ts"
import type { Fact } from "../record/Record.ts"
import { quotaExceeded, refuse } from "../values/Errors.ts"
import type { Conditional, Decided } from "./Decided.ts"

export type WebhookChange = Partial<Pick<Webhook, "url" | "events" | "description" | "status">>

export type WebhookCommand =
  | {
      readonly kind: "createWebhook"
      readonly webhook: Pick<Webhook, "id" | "url" | "events" | "description" | "secret">
      /** The maximum number of webhooks of an environment, a setting of the server. */
      readonly webhooksMax: number
    }
  | (Conditional & {
      readonly kind: "updateWebhook"
      readonly webhookId: string
      readonly change: WebhookChange
    })
  | (Conditional & { readonly kind: "deleteWebhook"; readonly webhookId: string })
  /** The previous secret also signs for `graceSeconds`. 0 ends all earlier secrets. */
  | {
      readonly kind: "rotateWebhookSecret"
      readonly webhookId: string
      readonly secret: string
      readonly graceSeconds: number
    }
  /** Laurel disables the webhook by itself. */
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

type CommandOf<Kind> = Extract<WebhookCommand, { readonly kind: Kind }>

export const createWebhook = (
  state: ProjectState,
  command: CommandOf<"createWebhook">,
  now: number,
): Decided<"quota_exceeded"> => {
  const { webhooksMax } = command
  if (state.webhooks.size >= webhooksMax)
    return quotaExceeded(webhooksMax, "webhooks per environment")
  const webhook = {
    ...command.webhook,
    status: "enabled",
    disabledReason: null,
    disabledAt: null,
    previousSecret: null,
    ...firstVersion(now),
  } as const
  return Result.succeed([{ kind: "webhook.created", webhook }])
}

export const updateWebhook = (
  { webhooks }: ProjectState,
  { change, webhookId }: CommandOf<"updateWebhook">,
  now: number,
): Decided<"webhook_not_found"> => {
  const webhook = webhooks.get(webhookId)
  if (webhook === undefined) return notFound
  return updated({ ...webhook, ...changed(webhook, change, now) }, now)
}

export const deleteWebhook = (
  { webhooks }: ProjectState,
  { webhookId }: CommandOf<"deleteWebhook">,
): Decided<"webhook_not_found"> =>
  webhooks.has(webhookId) ? Result.succeed([{ kind: "webhook.deleted", webhookId }]) : notFound

export const rotateWebhookSecret = (
  { webhooks }: ProjectState,
  command: CommandOf<"rotateWebhookSecret">,
  now: number,
): Decided<"webhook_not_found" | "quota_exceeded"> => {
  const webhook = webhooks.get(command.webhookId)
  return webhook === undefined ? notFound : rotated(webhook, command, now)
}

type Use = CommandOf<"disableWebhook" | "testWebhook" | "redeliver" | "recoverWebhook">

/** Decides a command that is valid only for an enabled webhook. */
export const useWebhook = (
  { webhooks }: ProjectState,
  command: Use,
): Decided<"webhook_not_found" | "webhook_disabled"> => {
  const webhook = webhooks.get(command.webhookId)
  if (webhook === undefined) return notFound
  return webhook.status === "disabled" ? disabled : Result.succeed([factOf(webhook, command)])
}

const factOf = ({ description, id: webhookId }: Webhook, command: Use): Fact => {
  switch (command.kind) {
    case "disableWebhook":
      return { kind: "webhook.disabled", webhookId, description, reason: command.reason }
    case "testWebhook":
      return { kind: "webhook.tested", webhookId }
    case "redeliver": {
      const { at, index, sequence } = command
      return { kind: "webhook.redelivered", webhookId, sequence, at, index }
    }
    case "recoverWebhook":
      return { kind: "webhook.recovered", webhookId, since: command.since }
  }
}

const rotated = (
  { olderSecrets = [], previousSecret, ...webhook }: Webhook,
  { graceSeconds, secret }: CommandOf<"rotateWebhookSecret">,
  now: number,
): Decided<"quota_exceeded"> => {
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

const updated = (webhook: Webhook, now: number): Decided<never> =>
  Result.succeed([
    { kind: "webhook.updated", webhook: { ...webhook, ...nextVersion(webhook, now) } },
  ])

const tooManySecrets = refuse(
  "quota_exceeded",
  `A webhook has at most ${limits.webhookSecretsMax} active secrets. Wait until one ends, or end all previous ones with graceSeconds 0.`,
)
const notFound = refuse("webhook_not_found", "No webhook of this project has this id.")
const disabled = refuse("webhook_disabled", "The webhook is disabled; enable it first.")
