/** The test clock of a sandbox: its time, and a form that advances it. */
import { Effect } from "effect"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { BodyOf } from "../../http/contract/Operations.ts"
import { limits } from "../../Limits.ts"
import { noticeOf, redirectWithNotice } from "../request/notice.ts"
import {
  mayChange,
  orPage,
  type PlaceVisit,
  placeForm,
  placePage,
  type Route,
} from "../request/Route.ts"
import { idempotencyField, textField } from "../view/Forms.ts"
import { type Html, html } from "../view/Html.ts"
import { figures } from "../view/Lists.ts"
import { alert } from "../view/Page.ts"
import { duration, isoTime } from "../view/Quantities.ts"
import type { Reply } from "../view/Replies.ts"

type Clock = BodyOf<"testClock.get">

const path = "/clock"
const dayMs = 86_400_000

/** Days by which a button advances. */
const steps: ReadonlyArray<readonly [days: string, label: string]> = [
  ["1", "A day further"],
  ["7", "A week further"],
]

/** The time in the field, in UTC: first the next midnight. */
const nextMidnight = ({ now }: Clock): string =>
  new Date((Math.floor(Date.parse(now) / dayMs) + 1) * dayMs).toISOString().slice(0, 16)

const advanceForm = (
  { base, form }: PlaceVisit,
  clock: Clock,
  error: LaurelError | undefined,
): Html => html`<h2>Advance</h2>
<p>What becomes due on the way is decided in order: streaks break, quests expire, windows of leaderboards close, and webhooks get their messages. The time never goes back, and nothing resets it. Production and other projects keep their time.</p>
<form method="post" action="${base}${path}">${idempotencyField()}
${textField({
  name: "advanceTo",
  label: "Advance to (UTC)",
  type: "datetime-local",
  value: form.text("advanceTo") || nextMidnight(clock),
  hint: `At most ${limits.testClockAheadMsMax / dayMs} days ahead of the server's time.`,
  faults: error?.errors,
})}
<p class="row"><button class="main">Advance to this time</button>
${steps.map(([days, label]) => html`<button name="days" value="${days}" formnovalidate>${label}</button>`)}</p>
</form>`

const clockPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  error?: LaurelError,
): Effect.fn.Return<Reply, LaurelError> {
  if (visit.place.environment === "production") {
    return visit.show(
      "Test clock",
      html`<p>Production has no test clock: its time is real. The sandbox has one, to try out in minutes what takes days.</p>`,
      error,
    )
  }
  const clock = yield* visit.ask("testClock.get")
  const { advancedByMs, advancedTo, now, status } = clock
  return visit.show(
    "Test clock",
    html`${noticeOf(visit)}
${error !== undefined && error.errors === undefined && alert(error.detail)}
${status === "advancing" && html`<p class="alert" role="status">The clock is advancing to ${isoTime(advancedTo)}. Reload this page to see how far it is.</p>`}
${figures([
  ["Time of this sandbox", isoTime(now)],
  ["Ahead of the server", advancedByMs === 0 ? "not at all" : duration(advancedByMs)],
])}
${mayChange(visit) && advanceForm(visit, clock, error)}`,
    error,
  )
})

const advance = Effect.fnUntraced(function* (
  visit: PlaceVisit,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, base, form } = visit
  const { now } = yield* ask("testClock.get")
  const days = form.optional("days")
  const typed = form.text("advanceTo")
  const advanceTo =
    days === undefined
      ? `${typed}:00Z`
      : new Date(Date.parse(now) + Number(days) * dayMs).toISOString()
  const { status } = yield* ask("testClock.advance", {
    payload: { advanceTo },
    idempotencyKey: form.optional("idempotencyKey"),
  })
  const notice = status === "ready" ? "Advanced." : "The advance has begun."
  return redirectWithNotice(visit, `${base}${path}`, notice)
})

export const testClockRoutes: ReadonlyArray<Route> = [
  placePage(path, (visit) => clockPage(visit)),
  placeForm(path, "test_clock.advance", (visit) =>
    orPage(advance(visit), (error) => clockPage(visit, error)),
  ),
]
