/** The backfill of a badge: its state, and the button that starts it. */
import { Effect } from "effect"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import type { PlaceVisit, Route } from "../../request/Route.ts"
import { confirmButton } from "../../view/Dialogs.ts"
import { checkField } from "../../view/Forms.ts"
import { type Html, html } from "../../view/Html.ts"
import { properties } from "../../view/Lists.ts"
import { isoTime } from "../../view/Quantities.ts"
import { actionRoute } from "./list.ts"

type Backfill = BodyOf<"badges.getBackfill">

const path = "/badges"

/** The latest backfill of a badge, if there was one. */
const latest = (visit: PlaceVisit, id: string): Effect.Effect<Backfill | undefined, LaurelError> =>
  Effect.catch(visit.ask("badges.getBackfill", { params: { id } }), (error) =>
    error.code === "backfill_not_found" ? Effect.succeed(undefined) : Effect.fail(error),
  )

const progress = (address: string, backfill: Backfill): Html => {
  const { awarded, checked, finishedAt, notify, startedAt, status, total } = backfill
  const percent = total === 0 ? 100 : Math.floor((100 * Math.min(checked, total)) / total)
  return html`${
    status !== "finished" &&
    html`<p><label for="progress">${status === "waiting" ? "Waiting for another backfill" : "Running"}: ${percent} %</label>
<progress id="progress" max="100" value="${percent}"></progress> <a href="${address}#backfill">Refresh</a></p>`
  }${properties([
    ["Status", status],
    ["Users checked", `${checked} of ${total}`],
    ["Users awarded", awarded],
    ["Messages", notify ? "sent" : "none"],
    ["Started", isoTime(startedAt)],
    ["Finished", finishedAt === null ? "not yet" : isoTime(finishedAt)],
  ])}`
}

/** `mayStart` is whether the visitor may start one. */
export const backfillSection = (
  visit: PlaceVisit,
  badge: { readonly id: string; readonly name: string },
  mayStart: boolean,
): Effect.Effect<Html, LaurelError> =>
  Effect.map(latest(visit, badge.id), (backfill) => {
    const address = `${visit.base}${path}/${badge.id}`
    const isOver = backfill === undefined || backfill.status === "finished"
    return html`<section id="backfill" aria-labelledby="backfill-title"><h2 id="backfill-title">Backfill</h2>
${backfill === undefined ? html`<p>A backfill awards the badge to users who qualify already.</p>` : progress(address, backfill)}
${
  mayStart &&
  isOver &&
  confirmButton({
    id: "start-backfill",
    button: "Start backfill",
    keep: "Not now",
    title: `Award ${badge.name} for the past in ${visit.place.environment}?`,
    detail: "Every user who qualifies gets the badge, in the background. It cannot be stopped.",
    action: `${address}/backfill`,
    fields: checkField({
      name: "notify",
      label: "Tell webhooks and streams",
      checked: false,
      hint: "One message for each badge that is awarded.",
    }),
    danger: false,
  })
}</section>`
  })

export const backfillRoute: Route = actionRoute({
  noun: "badge",
  verb: "backfill",
  path,
  change: (visit, id) =>
    visit.ask("badges.startBackfill", {
      params: { id },
      payload: { notify: visit.form.checked("notify") },
      idempotencyKey: visit.form.optional("idempotencyKey"),
    }),
  next: ({ base }, id) => `${base}${path}/${encodeURIComponent(id)}#backfill`,
})
