/** Actions on a user, one button each: undo, hide, show, merge, export, erase. */
import { Effect } from "effect"
import { invalidRequest, type LaurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import type { StreamedReply } from "../../../http/stream/StreamedReply.ts"
import { redirectWithNotice } from "../../request/notice.ts"
import { confirmed, orPage, type PlaceVisit } from "../../request/Route.ts"
import { badgeTitle, titled } from "../../view/Html.ts"
import { count } from "../../view/Quantities.ts"
import type { Reply } from "../../view/Replies.ts"
import { userPath } from "../../view/Users.ts"
import { userPage } from "./user.ts"

type Answer = Effect.Effect<Reply, LaurelError>

/** The answer of an action, or the user's page with the reason of a refusal. */
const orUserPage = (visit: PlaceVisit, userId: string, answer: Answer): Answer =>
  orPage(answer, (error) => userPage(visit, userId, error))

export const revokeEvent = (visit: PlaceVisit, id: string): Answer =>
  undo(
    visit,
    id,
    visit.ask("users.revokeEvent", { params: { id, eventId: visit.params.event! } }),
    undoneText,
  )

export const revokeReward = (visit: PlaceVisit, id: string): Answer =>
  undo(
    visit,
    id,
    visit.ask("users.revokeReward", { params: { id, rewardId: visit.params.reward! } }),
    undoneText,
  )

export const revokeSpend = (visit: PlaceVisit, id: string): Answer =>
  undo(
    visit,
    id,
    visit.ask("users.refund", { params: { id, spendId: visit.params.spend! } }),
    ({ currencies = {}, points, shortfall }) => {
      const changes = { ...currencies, points: { ...points, shortfall: shortfall.points } }
      const back = Object.entries(changes)
        .filter(([key, { refunded }]) => refunded > 0 || key === "points")
        .map(([key, { refunded }]) => `${count(refunded)} ${key}`)
      const missing = Object.entries(changes)
        .filter(([, change]) => change.shortfall > 0)
        .map(([key, change]) => `${count(change.shortfall)} ${key}`)
      const rest =
        missing.length === 0 ? "" : ` The source of ${missing.join(", ")} was undone before.`
      return `Given back: ${back.toReversed().join(", ")}.${rest}`
    },
  )

/** Refunds a purchase. */
export const revokePurchase = (visit: PlaceVisit, id: string): Answer =>
  undo(
    visit,
    id,
    visit.ask("purchases.revoke", { params: { id, purchaseId: visit.params.purchase! } }),
    ({ price, ...undone }) => {
      const back = Object.entries(price).map(([key, { refunded }]) => `${count(refunded)} ${key}`)
      return `Given back: ${back.join(", ")}. ${undoneText(undone)}`
    },
  )

type Undone =
  | BodyOf<"users.revokeEvent">
  | BodyOf<"users.revokeReward">
  | Omit<BodyOf<"purchases.revoke">, "price">

const undo = <Body>(
  visit: PlaceVisit,
  userId: string,
  undone: Effect.Effect<Body, LaurelError>,
  textOf: (body: Body) => string,
): Answer =>
  orUserPage(
    visit,
    userId,
    Effect.map(undone, (reply) =>
      redirectWithNotice(visit, userPath(visit.base, userId), textOf(reply)),
    ),
  )

const undoneText = (undone: Undone): string => {
  const { badges, boosts = [], currencies = {}, expired = {}, freezes = {}, level, points } = undone
  const { shortfall, xp } = undone
  const parts = [
    `${count(xp.revoked)} xp`,
    `${count(points.revoked)} points`,
    ...Object.entries(currencies).map(([key, { revoked }]) => `${count(revoked)} ${key}`),
    ...Object.entries(freezes).map(([key, { revoked }]) => `${count(revoked)} freezes of ${key}`),
    ...boosts.map(({ name }) => `boost ${name}`),
    ...badges.map((badge) => `badge ${badgeTitle(badge)}`),
    ...(level.before === level.after ? [] : [`level ${level.before} → ${level.after}`]),
  ]
  const further = [
    ...Object.entries(shortfall.currencies ?? {}),
    ...Object.entries(shortfall.freezes ?? {}).map(
      ([key, amount]) => [`freezes of ${key}`, amount] as const,
    ),
  ]
  const missing = shortfall.xp > 0 || shortfall.points > 0 || further.length > 0
  const rest = [
    `${count(shortfall.xp)} xp and ${count(shortfall.points)} points`,
    ...further.map(([key, amount]) => `${count(amount)} ${key}`),
  ].join(", ")
  const lost = Object.entries(expired).map(([key, amount]) => `${count(amount)} ${key}`)
  return [
    `Taken back: ${parts.join(", ")}.`,
    ...(missing ? [`The balance did not cover ${rest}.`] : []),
    ...(lost.length > 0 ? [`Expired before: ${lost.join(", ")}.`] : []),
  ].join(" ")
}

export const setHidden = (visit: PlaceVisit, userId: string, hidden: boolean): Answer =>
  orUserPage(
    visit,
    userId,
    Effect.map(visit.ask("users.put", { params: { id: userId }, payload: { hidden } }), () => {
      const notice = hidden ? "Hidden from leaderboards." : "Shown on leaderboards."
      return redirectWithNotice(visit, userPath(visit.base, userId), notice)
    }),
  )

/** Merges a user into another. Requires a recent confirmation, since it cannot be undone. */
export const mergeUser = (visit: PlaceVisit, userId: string): Answer => {
  const { base, form } = visit
  const merged = Effect.gen(function* () {
    yield* confirmed(visit)
    const payload = { into: form.text("into") }
    const { into } = yield* visit.ask("users.merge", { params: { id: userId }, payload })
    const notice = `User ${titled(userId)} was merged into this one. The former id leads here.`
    return redirectWithNotice(visit, userPath(base, into), notice)
  })
  return orUserPage(visit, userId, merged)
}

/** Erases a user. Requires a recent confirmation and the typed id. */
export const eraseUser = (visit: PlaceVisit, userId: string): Answer => {
  const { base, form, reply } = visit
  const erased = Effect.gen(function* () {
    yield* confirmed(visit)
    if (form.text("confirm") !== userId) return yield* Effect.fail(otherId)
    const { headers = [] } = yield* reply("users.erase", { params: { id: userId } })
    const at = headers.indexOf("Laurel-Erased-By")
    const day = headers[at + 1]?.slice(0, "2026-11-01".length)
    const leaves =
      at === -1
        ? "the journal in PostgreSQL keeps the last data, since no archives are kept elsewhere"
        : `the last data leaves the journal and the archives of this server by ${day}`
    const notice = `User ${titled(userId)} is erased. No page, leaderboard or API reply shows the user any more; ${leaves}.`
    return redirectWithNotice(visit, `${base}/users`, notice)
  })
  return orUserPage(visit, userId, erased)
}

const otherId = invalidRequest([
  { pointer: "/confirm", code: "invalid_value", detail: "must be the id of this user" },
])

/** Everything about the user, as a file to save. */
export const exportUser = (
  visit: PlaceVisit,
  userId: string,
): Effect.Effect<StreamedReply, LaurelError> =>
  Effect.map(visit.open("users.export", { params: { id: userId } }), (reply) => ({
    ...reply,
    headers: ["Content-Disposition", `attachment; filename="${fileNameOf(visit, userId)}"`],
  }))

/** A file name without parts that a file system could read as a path or another file type. */
const fileNameOf = ({ place }: PlaceVisit, userId: string): string =>
  [place.project.name, place.environment, userId]
    .map((part) => part.replace(/[^A-Za-z0-9]+/g, "-").slice(0, 60))
    .join("_")
    .concat(".json")
