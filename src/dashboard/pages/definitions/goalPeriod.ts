/** The buttons that end a goal at once, and that move its end. */
import { Effect } from "effect"
import { type Fault, invalidRequest } from "../../../domain/values/Errors.ts"
import { isoTime } from "../../../domain/values/isoTime.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import type { PlaceVisit, Route } from "../../request/Route.ts"
import { versionInput } from "../../view/Editing.ts"
import { confirmButton } from "../../view/Forms.ts"
import { type Content, html } from "../../view/Html.ts"
import { actionRoute } from "./editor.ts"

type Goal = Pick<BodyOf<"goals.update">, "id" | "name" | "status" | "version" | "endsAt">

const path = "/goals"

const weekMs = 7 * 86_400_000

export const periodButtons = (visit: PlaceVisit, goal: Goal): Content =>
  html`<div class="row">${endButton(visit, goal)}${extendButton(visit, goal)}</div>`

const endButton = (visit: PlaceVisit, { id, name, status, version }: Goal): Content => {
  if (status !== "active" && status !== "paused") return undefined
  return confirmButton({
    id: `end-${id}`,
    button: "End now",
    confirm: "End goal",
    keep: "Keep it open",
    title: `End ${name} in ${visit.place.environment}?`,
    detail:
      "Nothing counts for it from now on. The rewards of a completion are still paid. It can be extended.",
    action: `${visit.base}${path}/${id}/end`,
    fields: versionInput(version),
  })
}

/** A goal without an end needs no later one. */
const extendButton = (visit: PlaceVisit, { endsAt, id, name, status, version }: Goal): Content => {
  if (endsAt === null || status === "draft" || status === "archived") return undefined
  const later = isoTime(Math.max(Date.parse(endsAt), visit.time()) + weekMs)
  const field = `extend-to-${id}`
  return confirmButton({
    id: `extend-${id}`,
    button: "Extend",
    confirm: "Extend goal",
    danger: false,
    title: `Extend ${name} in ${visit.place.environment}`,
    detail:
      status === "ended"
        ? "It is over, and goes on until the new end. Events that arrived meanwhile do not count."
        : "It goes on until the new end.",
    action: `${visit.base}${path}/${id}/extend`,
    fields: html`${versionInput(version)}<div class="field"><label for="${field}">New end</label><input id="${field}" name="endsAt" value="${later}" autocomplete="off" data-time required></div>`,
  })
}

const pageOf = ({ base }: PlaceVisit, id: string): string =>
  `${base}${path}/${encodeURIComponent(id)}`

const endRoute: Route = actionRoute({
  noun: "goal",
  verb: "end",
  path,
  change: (visit, id, ifMatch) => {
    const payload = { endsAt: isoTime(visit.time()) }
    return visit.ask("goals.update", { params: { id }, payload, ifMatch })
  },
  next: pageOf,
})

const notLater: Fault = {
  pointer: "/endsAt",
  code: "out_of_range",
  detail: "must be after the present end",
}

const extendRoute: Route = actionRoute({
  noun: "goal",
  verb: "extend",
  path,
  change: Effect.fnUntraced(function* (visit, id, ifMatch) {
    const endsAt = visit.form.text("endsAt")
    const before = yield* visit.ask("goals.get", { params: { id } })
    const isEarlier = before.endsAt === null || Date.parse(endsAt) <= Date.parse(before.endsAt)
    if (isEarlier) return yield* Effect.fail(invalidRequest([notLater]))
    return yield* visit.ask("goals.update", { params: { id }, payload: { endsAt }, ifMatch })
  }),
  next: pageOf,
})

export const goalPeriodRoutes: ReadonlyArray<Route> = [endRoute, extendRoute]
