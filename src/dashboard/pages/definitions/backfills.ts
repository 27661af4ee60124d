/** The backfill of a badge or a metric: its state, and the button that starts it. */
import { Effect } from "effect"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { properties } from "../../view/Lists.ts"
import { isoTime } from "../../view/Quantities.ts"

interface Backfill {
  readonly status: "waiting" | "running" | "finished"
  readonly checked: number
  readonly total: number
  readonly startedAt: string
  readonly finishedAt: string | null
}

/** The latest backfill, if there was one. */
export const latestOf = <A>(
  asked: Effect.Effect<A, LaurelError>,
): Effect.Effect<A | undefined, LaurelError> =>
  Effect.catch(asked, (error) =>
    error.code === "backfill_not_found" ? Effect.succeed(undefined) : Effect.fail(error),
  )

/** `own`: what the kind shows besides. `start`: the button, for visitors who may start it. */
export const backfillSection = <A extends Backfill>(
  address: string,
  backfill: A | undefined,
  {
    own,
    purpose,
    start,
  }: {
    readonly purpose: string
    readonly own: (backfill: A) => ReadonlyArray<readonly [name: string, value: Content]>
    readonly start: Html | false
  },
): Html => {
  const isOver = backfill === undefined || backfill.status === "finished"
  return html`<section id="backfill" aria-labelledby="backfill-title"><h2 id="backfill-title">Backfill</h2>
${backfill === undefined ? html`<p>${purpose}</p>` : progress(address, backfill, own(backfill))}
${isOver && start}</section>`
}

const progress = (
  address: string,
  { checked, finishedAt, startedAt, status, total }: Backfill,
  own: ReadonlyArray<readonly [name: string, value: Content]>,
): Html => {
  const percent = total === 0 ? 100 : Math.floor((100 * Math.min(checked, total)) / total)
  return html`${
    status !== "finished" &&
    html`<p><label for="progress">${status === "waiting" ? "Waiting for another backfill" : "Running"}: ${percent}%</label>
<progress id="progress" max="100" value="${percent}"></progress> <a href="${address}#backfill">Refresh</a></p>`
  }${properties([
    ["Status", status],
    ["Users checked", `${checked} of ${total}`],
    ...own,
    ["Started", isoTime(startedAt)],
    ["Finished", finishedAt === null ? "not yet" : isoTime(finishedAt)],
  ])}`
}
