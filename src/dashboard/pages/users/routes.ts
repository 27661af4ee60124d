/** The addresses of the pages about users. */
import { Effect } from "effect"
import { type LaurelError, laurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { percentDecode } from "../../../http/request/RequestParts.ts"
import type { StreamedReply } from "../../../http/stream/StreamedReply.ts"
import { type PlaceVisit, placeForm, placePage, type Route } from "../../request/Route.ts"
import type { Reply } from "../../view/Replies.ts"
import {
  eraseUser,
  exportUser,
  mergeUser,
  revokeEvent,
  revokePurchase,
  revokeReward,
  revokeSpend,
  setHidden,
} from "./actions.ts"
import {
  eventPage,
  grantReward,
  profilePage,
  rewardPage,
  saveProfile,
  sendEvent,
  spendPage,
  spendPoints,
} from "./forms.ts"
import { savedUsers, usersPage } from "./list.ts"
import { userPage } from "./user.ts"

const path = "/users"
const notFound = laurelError("not_found", "No user can have this address.")

type Answer = Effect.Effect<Reply | StreamedReply, LaurelError>

/** Answers for the user in the path, who must exist: several operations would create the user. */
const about =
  (answer: (visit: PlaceVisit, user: BodyOf<"users.get">) => Answer) =>
  (visit: PlaceVisit): Answer => {
    const id = percentDecode(visit.params.user!)
    return id === undefined
      ? Effect.fail(notFound)
      : Effect.flatMap(visit.ask("users.get", { params: { id } }), (user) => answer(visit, user))
  }

export const userRoutes: ReadonlyArray<Route> = [
  placePage(path, usersPage),
  placePage(`${path}.csv`, savedUsers),
  placePage(
    `${path}/:user`,
    about((visit, { id }) => userPage(visit, id)),
  ),
  placePage(
    `${path}/:user/reward`,
    about((visit, user) => rewardPage(visit, user)),
    "admin",
  ),
  placeForm(`${path}/:user/reward`, "user.reward", about(grantReward)),
  placePage(
    `${path}/:user/spend`,
    about((visit, user) => spendPage(visit, user)),
    "admin",
  ),
  placeForm(`${path}/:user/spend`, "user.spend", about(spendPoints)),
  placePage(
    `${path}/:user/event`,
    about((visit, user) => eventPage(visit, user)),
    "admin",
  ),
  placeForm(`${path}/:user/event`, "event.send", about(sendEvent)),
  placePage(
    `${path}/:user/profile`,
    about((visit, user) => profilePage(visit, user)),
    "admin",
  ),
  placeForm(`${path}/:user/profile`, "user.update", about(saveProfile)),
  placeForm(
    `${path}/:user/hide`,
    "user.hide",
    about((visit, { id }) => setHidden(visit, id, true)),
  ),
  placeForm(
    `${path}/:user/show`,
    "user.show",
    about((visit, { id }) => setHidden(visit, id, false)),
  ),
  placeForm(
    `${path}/:user/events/:event/revoke`,
    "event.revoke",
    about((visit, { id }) => revokeEvent(visit, id)),
  ),
  placeForm(
    `${path}/:user/rewards/:reward/revoke`,
    "reward.revoke",
    about((visit, { id }) => revokeReward(visit, id)),
  ),
  placeForm(
    `${path}/:user/spends/:spend/revoke`,
    "spend.revoke",
    about((visit, { id }) => revokeSpend(visit, id)),
  ),
  placeForm(
    `${path}/:user/purchases/:purchase/revoke`,
    "purchase.revoke",
    about((visit, { id }) => revokePurchase(visit, id)),
  ),
  placeForm(
    `${path}/:user/export`,
    "user.export",
    about((visit, { id }) => exportUser(visit, id)),
  ),
  placeForm(
    `${path}/:user/merge`,
    "user.merge",
    about((visit, { id }) => mergeUser(visit, id)),
  ),
  placeForm(
    `${path}/:user/erase`,
    "user.erase",
    about((visit, { id }) => eraseUser(visit, id)),
  ),
]
