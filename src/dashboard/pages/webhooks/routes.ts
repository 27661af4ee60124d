/** The routes of webhooks, and the actions of their buttons. */
import { Effect } from "effect"
import type { AuditAction } from "../../../accounts/audit/AuditLog.ts"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import { redirectWithNotice } from "../../request/notice.ts"
import {
  confirmed,
  confirmedInProduction,
  orPage,
  type PlaceVisit,
  placeForm,
  placePage,
  type Route,
} from "../../request/Route.ts"
import { versionIn } from "../../view/Editing.ts"
import { about, type Reply, redirect } from "../../view/Replies.ts"
import { deliveryPage } from "./deliveries.ts"
import {
  deliveryAddress,
  deliveryPath,
  hostOf,
  listAddress,
  ofPage,
  secretRedirect,
  webhookAddress,
  webhookPath,
} from "./webhook.ts"
import { formRoutes, listRoutes, webhookPage } from "./webhooks.ts"

type Answer = Effect.Effect<Reply, LaurelError>

/** A button of a webhook's page. A refusal shows the page with the reason. */
const button = (name: string, action: AuditAction, change: (visit: PlaceVisit) => Answer): Route =>
  placeForm(`${webhookPath}/${name}`, action, (visit) =>
    orPage(change(visit), (error) => webhookPage(visit, error)),
  )

const ownAddress = (visit: PlaceVisit): string => webhookAddress(visit, ofPage(visit).id)

const setStatus = (visit: PlaceVisit, status: "disabled" | "enabled"): Answer =>
  Effect.map(
    visit.ask("webhooks.update", {
      params: ofPage(visit),
      payload: { status },
      ifMatch: versionIn(visit.form),
    }),
    (webhook) => about(redirect(ownAddress(visit)), { detail: hostOf(webhook) }),
  )

const keyOf = ({ form }: PlaceVisit) => ({ idempotencyKey: form.optional("idempotencyKey") })

/** The UTC time of a date and time field, in the format of the contract. */
const isoOf = (text: string): string =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(text) ? `${text}:00Z` : text

const sendTest = (visit: PlaceVisit): Answer =>
  Effect.map(visit.ask("webhooks.test", { params: ofPage(visit), ...keyOf(visit) }), () =>
    redirectWithNotice(
      visit,
      ownAddress(visit),
      "A test message is on its way. Reload to see its delivery below.",
    ),
  )

const recover = (visit: PlaceVisit): Answer => {
  const payload = { since: isoOf(visit.form.text("since").trim()) }
  // A sent message cannot be taken back.
  const asked = Effect.andThen(
    confirmedInProduction(visit),
    visit.ask("webhooks.recover", { params: ofPage(visit), payload, ...keyOf(visit) }),
  )
  return Effect.map(asked, ({ since }) => {
    const notice = `Messages since ${since} that were missed are sent in the background.`
    return about(redirectWithNotice(visit, ownAddress(visit), notice), { detail: `since ${since}` })
  })
}

const rotate = Effect.fnUntraced(function* (
  visit: PlaceVisit,
): Effect.fn.Return<Reply, LaurelError> {
  yield* confirmed(visit)
  const { previousSecretExpiresAt: until, secret } = yield* visit.ask("webhooks.rotateSecret", {
    params: ofPage(visit),
    payload: { graceSeconds: visit.form.number("graceSeconds") },
    ...keyOf(visit),
  })
  return secretRedirect(visit, ofPage(visit).id, { secret, until })
})

const remove = Effect.fnUntraced(function* (
  visit: PlaceVisit,
): Effect.fn.Return<Reply, LaurelError> {
  yield* confirmed(visit)
  const params = ofPage(visit)
  const webhook = yield* visit.ask("webhooks.get", { params })
  yield* visit.ask("webhooks.delete", { params, ifMatch: versionIn(visit.form) })
  const notice = `The webhook to ${hostOf(webhook)} is deleted.`
  return about(redirectWithNotice(visit, listAddress(visit), notice), { detail: hostOf(webhook) })
})

const redeliver = (visit: PlaceVisit): Answer => {
  const { id } = ofPage(visit)
  const params = { id, deliveryId: visit.params.delivery! }
  const sent = Effect.map(visit.ask("webhooks.redeliver", { params, ...keyOf(visit) }), () =>
    redirectWithNotice(
      visit,
      deliveryAddress(visit, id, params.deliveryId),
      "The message is on its way once more. Reload to see the reply.",
    ),
  )
  return orPage(sent, (error) => deliveryPage(visit, error))
}

export const webhookRoutes: ReadonlyArray<Route> = [
  ...listRoutes,
  ...formRoutes,
  placePage(webhookPath, (visit) => webhookPage(visit)),
  button("pause", "webhook.pause", (visit) => setStatus(visit, "disabled")),
  button("enable", "webhook.enable", (visit) => setStatus(visit, "enabled")),
  button("test", "webhook.test", sendTest),
  button("recover", "webhook.recover", recover),
  button("rotate", "webhook.rotate_secret", rotate),
  button("delete", "webhook.delete", remove),
  placePage(deliveryPath, (visit) => deliveryPage(visit)),
  placeForm(`${deliveryPath}/redeliver`, "webhook.redeliver", redeliver),
]
