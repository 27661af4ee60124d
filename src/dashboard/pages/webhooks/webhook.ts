/** Shared by the pages of webhooks: addresses, statuses in words, the form's fields. */

import { readFileSync } from "node:fs"
import path from "node:path"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import type { MemberVisit, PlaceVisit } from "../../request/Route.ts"
import { commandBox, secretBox } from "../../view/Commands.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { isoTime } from "../../view/Quantities.ts"
import { type Reply, redirect } from "../../view/Replies.ts"

/** A webhook with its counts, and one without, as in the list. */
export type Counted = BodyOf<"webhooks.get">
export type Listed = BodyOf<"webhooks.list">["webhooks"][number]

export const listPath = "/webhooks"
export const webhookPath = `${listPath}/:webhook`
export const deliveryPath = `${webhookPath}/deliveries/:delivery`

export const listAddress = ({ base }: PlaceVisit): string => `${base}/webhooks`
export const webhookAddress = (visit: PlaceVisit, id: string): string =>
  `${listAddress(visit)}/${id}`
export const deliveryAddress = (visit: PlaceVisit, id: string, delivery: string): string =>
  `${webhookAddress(visit, id)}/deliveries/${delivery}`

/** The webhook of the page. */
export const ofPage = ({ params }: PlaceVisit) => ({ id: params.webhook! })

const reasons = {
  gone: "the receiver answered 410 Gone",
  failing: "nothing but failures for five days",
  manual: "paused by hand",
} as const

/** Whether messages are sent, and why not. */
export const statusText = ({
  disabledAt,
  disabledReason,
  failing,
  status,
}: Listed & { readonly failing?: boolean }): Content => {
  if (status === "enabled") return failing === true ? "enabled, failing" : "enabled"
  const why = disabledReason === null ? "" : `: ${reasons[disabledReason]}`
  return html`disabled${why}${disabledAt !== null && html`, ${isoTime(disabledAt)}`}`
}

/** The host of the receiver. Used instead of the URL, which may hold a secret in its path. */
export const hostOf = ({ url }: Pick<Listed, "url">): string => new URL(url).host

/** The URL of a webhook. The contract keeps URLs in ASCII. */
export const urlOf = ({ url }: Pick<Listed, "url">): Html => html`<code class="url">${url}</code>`

/* A new signing secret is shown once, on the page of its webhook. */

interface NewSecret {
  readonly secret: string
  /** ISO time until which the previous secret also signs; `null` without a previous secret. */
  readonly until: string | null
}

export const secretRedirect = (visit: PlaceVisit, id: string, made: NewSecret): Reply => {
  const name = visit.once.keep(JSON.stringify(made), visit.member.session.id)
  return redirect(`${webhookAddress(visit, id)}?secret=${name}`)
}

/** The section with the new secret, on the first visit. */
export const secretSection = ({ member, once, request }: MemberVisit): Html | undefined => {
  const text = once.take(request.query.get("secret"), member.session.id)
  if (text === undefined) return undefined
  const { secret, until }: NewSecret = JSON.parse(text)
  return html`<section aria-labelledby="made"><h2 id="made">New signing secret</h2>
<p>Copy it now and give it to your receiver: it is not shown again.</p>
${secretBox("secret", "the secret", secret)}
${until !== null && html`<p>The secret before signs each message, too, until ${isoTime(until)}.</p>`}</section>`
}

/* Receivers that verify messages: short programs to copy, which run as they stand. */

const programOf = (file: string): string =>
  readFileSync(path.join(import.meta.dirname, file), "utf8")

const receivers = [
  ["JavaScript, with the package standardwebhooks", "receiver-js", programOf("receiver.mjs")],
  ["Python, with its standard library", "receiver-py", programOf("receiver.py")],
] as const

export const verificationSection = (): Html =>
  html`<details><summary>Verify messages in your receiver</summary>
<p>Messages follow <a href="https://www.standardwebhooks.com" rel="noreferrer">Standard Webhooks</a>: verify each one before you use it, and answer with a 2xx within ${limits.webhookTimeoutMs / 1_000} seconds.</p>
${receivers.map(([label, id, text]) => commandBox({ id, label, text }))}</details>`
