/** The newest purchases of a user, each with a button that refunds it. */
import { Effect } from "effect"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { mayChange, type PlaceVisit } from "../../request/Route.ts"
import { confirmButton } from "../../view/Forms.ts"
import { type Content, type Html, html, isolated, titled } from "../../view/Html.ts"
import { table } from "../../view/Lists.ts"
import { count, isoTime } from "../../view/Quantities.ts"
import { inProduction } from "./inProduction.ts"

type Purchase = BodyOf<"purchases.get">

const purchasesShown = 10

/** `path` is that of the user's page. */
export const purchasesSection = (
  visit: PlaceVisit,
  userId: string,
  path: string,
): Effect.Effect<Html, LaurelError> =>
  Effect.map(
    visit.ask("purchases.list", {
      params: { id: userId },
      query: { limit: String(purchasesShown) },
    }),
    ({ hasMore, purchases }) => html`<h2>Purchases</h2>
${
  purchases.length === 0
    ? html`<p>The user has bought nothing yet.</p>`
    : table(
        "Purchases",
        ["Time", "Item", "Price", "Refund"],
        purchases.map((purchase) => rowOf(visit, path, purchase)),
      )
}
${hasMore && html`<p class="hint">The newest ${purchasesShown} are shown. <a href="${path}?kind=item.purchased#history">All purchases</a></p>`}`,
  )

const rowOf = (visit: PlaceVisit, path: string, purchase: Purchase): ReadonlyArray<Content> => {
  const { itemId, name, purchasedAt, purchaseId, revoked, revokedAt } = purchase
  return [
    isoTime(purchasedAt),
    html`<a href="${visit.base}/items/${itemId}">${isolated(name)}</a><br><code>${purchaseId}</code>`,
    priceWords(purchase),
    revoked
      ? html`refunded ${isoTime(revokedAt)}`
      : mayChange(visit) &&
        confirmButton({
          id: `refund-${purchaseId}`,
          button: "Refund",
          confirm: "Refund purchase",
          keep: "Keep it",
          title: `Refund ${titled(name)}${inProduction(visit)}?`,
          detail: `The user gets back ${priceWords(purchase)}, the unit is in stock again, and what the item gave is taken back. A refund cannot be undone.`,
          action: `${path}/purchases/${purchaseId}/revoke`,
        }),
  ]
}

const priceWords = ({ price }: Purchase): string =>
  Object.entries(price)
    .map(([key, amount]) => `${count(amount)} ${key}`)
    .join(", ")
