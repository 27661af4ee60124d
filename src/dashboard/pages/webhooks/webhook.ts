/** Shared by the pages of webhooks: addresses, statuses in words, the form's fields. */
import type { BodyOf } from "../../../http/contract/Operations.ts"
import type { PlaceVisit } from "../../request/Route.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { isoTime } from "../../view/Quantities.ts"

/** A webhook with its counts, or as the list has it. */
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

/** The host of the receiver: a URL may hold a secret in its path. */
export const hostOf = ({ url }: Pick<Listed, "url">): string => new URL(url).host

/** A URL as the contract keeps it has ASCII alone. */
export const urlOf = ({ url }: Pick<Listed, "url">): Html => html`<code class="url">${url}</code>`
