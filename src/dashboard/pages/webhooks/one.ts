/** One webhook: its status and numbers, what may be done with it, its deliveries. */
import { Effect } from "effect"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import { limits } from "../../../Limits.ts"
import { confirmHint, noticeOf } from "../../request/notice.ts"
import { mayChange, type PlaceVisit } from "../../request/Route.ts"
import { confirmButton } from "../../view/Dialogs.ts"
import { isolated } from "../../view/Foreign.ts"
import { idempotencyField, refusal, selectField, textField } from "../../view/Forms.ts"
import { type Html, html } from "../../view/Html.ts"
import { properties } from "../../view/Lists.ts"
import { isoTime } from "../../view/Quantities.ts"
import type { Reply } from "../../view/Replies.ts"
import { deliveriesSection } from "./deliveries.ts"
import { secretSection } from "./secret.ts"
import { verificationSection } from "./verification.ts"
import { type Counted, hostOf, ofPage, statusText, urlOf, webhookAddress } from "./webhook.ts"

const day = 86_400_000

/** By seconds. */
const graces: ReadonlyArray<readonly [string, string]> = [
  ["0", "ends at once"],
  ["3600", "keeps signing for another hour"],
  ["86400", "keeps signing for another day"],
  ["604800", "keeps signing for another week"],
]

/** A time in a field of a form, in UTC. */
const fieldTime = (at: number): string => new Date(at).toISOString().slice(0, 16)

const recoverForm = (visit: PlaceVisit, webhook: Counted, error: LaurelError | undefined): Html => {
  const { form, now } = visit
  return html`<h2>Recover missed messages</h2>
<p>Sends in the background what failed, was dropped, or happened while the webhook was disabled. Messages that the receiver accepted are not sent again.</p>
<form method="post" action="${webhookAddress(visit, webhook.id)}/recover">${idempotencyField()}
${textField({
  name: "since",
  label: "Since (UTC)",
  type: "datetime-local",
  value: form.text("since") || fieldTime(now() - day),
  required: true,
  hint: `Messages are made again from the journal. It reaches back about ${
    limits.journalRetentionMs / day
  } days, less on a server with very many events; older messages are gone.`,
  faults: error?.errors,
})}
${confirmHint(visit, "To recover messages", webhookAddress(visit, webhook.id))}
<button${webhook.status === "disabled" && html` disabled`}>Recover messages of ${visit.place.environment}</button></form>`
}

const actions = (visit: PlaceVisit, webhook: Counted): Html => {
  const { environment } = visit.place
  const address = webhookAddress(visit, webhook.id)
  const host = hostOf(webhook)
  const isEnabled = webhook.status === "enabled"
  return html`<div class="row">
<a class="button" href="${address}/change">Change webhook</a>
${
  isEnabled &&
  html`<form method="post" action="${address}/test">${idempotencyField()}<button>Send test message</button></form>`
}
${
  isEnabled
    ? confirmButton({
        id: "pause",
        button: "Pause webhook",
        keep: "Keep it enabled",
        danger: false,
        title: `Pause ${host} of ${environment}?`,
        detail:
          "Nothing is sent until the webhook is enabled again. The webhook then misses what happened in between: recover these messages on this page.",
        action: `${address}/pause`,
      })
    : html`<form method="post" action="${address}/enable"><button class="main">Enable webhook</button></form>`
}
${confirmButton({
  id: "rotate",
  button: "Rotate secret",
  keep: "Keep the secret",
  title: `Rotate the secret of ${host} in ${environment}?`,
  detail: "New messages are signed with a new secret, which is shown once.",
  fields: selectField({
    name: "graceSeconds",
    label: "The present secret",
    options: graces,
    value: String(limits.webhookGraceSeconds),
  }),
  action: `${address}/rotate`,
})}
${confirmButton({
  id: "delete",
  button: "Delete webhook",
  keep: "Keep it",
  title: `Delete ${host} of ${environment}?`,
  detail:
    "All deliveries stop, and the log of deliveries is deleted. This cannot be undone; to stop for a while, pause the webhook.",
  action: `${address}/delete`,
})}</div>`
}

/** The page of a webhook, with the reason for which a form of it was refused. */
export const webhookPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  error?: LaurelError,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, show } = visit
  const webhook = yield* ask("webhooks.get", { params: ofPage(visit) })
  const deliveries = yield* deliveriesSection(visit, webhook)
  const secret = secretSection(visit)
  const allowed = mayChange(visit)
  const { dropped, failed, pending, succeeded } = webhook.deliveries
  return show(
    `Webhook to ${hostOf(webhook)}`,
    html`${noticeOf(visit)}${refusal(error, ["since"])}
<p>${urlOf(webhook)}</p>
${webhook.description !== null && html`<p>${isolated(webhook.description)}</p>`}
${secret}
${properties([
  ["Status", statusText(webhook)],
  ["Events", webhook.events.map((pattern) => html`<code>${pattern}</code> `)],
  ["Last success", isoTime(webhook.lastSuccessAt)],
  ["Pending", pending],
  ["Succeeded", succeeded],
  ["Failed", failed],
  ["Dropped", dropped],
  ["Created", isoTime(webhook.createdAt)],
])}
${allowed && actions(visit, webhook)}
${deliveries}
${allowed && recoverForm(visit, webhook, error)}
<h2>Receiver</h2>
${verificationSection()}`,
    error,
  )
})
