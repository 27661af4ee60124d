/** The addresses of the pages about users. */
import { Effect } from "effect"
import { type LaurelError, laurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import type { StreamedReply } from "../../../http/stream/StreamedReply.ts"
import type { PlaceVisit, Route } from "../../request/Route.ts"
import type { Reply } from "../../view/Replies.ts"
import { userIdOf } from "../../view/Users.ts"
import { eraseUser, exportUser, revokeEvent, revokeReward, setHidden } from "./actions.ts"
import { eventPage, grantReward, profilePage, rewardPage, saveProfile, sendEvent } from "./forms.ts"
import { usersPage } from "./list.ts"
import { userPage } from "./user.ts"

const path = "/:project/:environment/users"
const notFound = laurelError("not_found", "No user can have this address.")

type Answer = Effect.Effect<Reply | StreamedReply, LaurelError>

/** Answers for the user that the path names; several operations would create one that does not exist. */
const about =
  (answer: (visit: PlaceVisit, user: BodyOf<"users.get">) => Answer) =>
  (visit: PlaceVisit): Answer => {
    const id = userIdOf(visit.params.user!)
    return id === undefined
      ? Effect.fail(notFound)
      : Effect.flatMap(visit.ask("users.get", { params: { id } }), (user) => answer(visit, user))
  }

export const userRoutes: ReadonlyArray<Route> = [
  { method: "GET", path, access: "project", role: "viewer", answer: usersPage },
  {
    method: "GET",
    path: `${path}/:user`,
    access: "project",
    role: "viewer",
    answer: about((visit, { id }) => userPage(visit, id)),
  },
  {
    method: "GET",
    path: `${path}/:user/reward`,
    access: "project",
    role: "admin",
    answer: about((visit, user) => rewardPage(visit, user)),
  },
  {
    method: "POST",
    action: "user.reward",
    path: `${path}/:user/reward`,
    access: "project",
    role: "admin",
    answer: about(grantReward),
  },
  {
    method: "GET",
    path: `${path}/:user/event`,
    access: "project",
    role: "admin",
    answer: about((visit, user) => eventPage(visit, user)),
  },
  {
    method: "POST",
    action: "event.send",
    path: `${path}/:user/event`,
    access: "project",
    role: "admin",
    answer: about(sendEvent),
  },
  {
    method: "GET",
    path: `${path}/:user/profile`,
    access: "project",
    role: "admin",
    answer: about((visit, user) => profilePage(visit, user)),
  },
  {
    method: "POST",
    action: "user.update",
    path: `${path}/:user/profile`,
    access: "project",
    role: "admin",
    answer: about(saveProfile),
  },
  {
    method: "POST",
    action: "user.hide",
    path: `${path}/:user/hide`,
    access: "project",
    role: "admin",
    answer: about((visit, { id }) => setHidden(visit, id, true)),
  },
  {
    method: "POST",
    action: "user.show",
    path: `${path}/:user/show`,
    access: "project",
    role: "admin",
    answer: about((visit, { id }) => setHidden(visit, id, false)),
  },
  {
    method: "POST",
    action: "event.revoke",
    path: `${path}/:user/events/:event/revoke`,
    access: "project",
    role: "admin",
    answer: about((visit, { id }) => revokeEvent(visit, id)),
  },
  {
    method: "POST",
    action: "reward.revoke",
    path: `${path}/:user/rewards/:reward/revoke`,
    access: "project",
    role: "admin",
    answer: about((visit, { id }) => revokeReward(visit, id)),
  },
  {
    method: "POST",
    action: "user.export",
    path: `${path}/:user/export`,
    access: "project",
    role: "admin",
    answer: about((visit, { id }) => exportUser(visit, id)),
  },
  {
    method: "POST",
    action: "user.erase",
    path: `${path}/:user/erase`,
    access: "project",
    role: "admin",
    answer: about((visit, { id }) => eraseUser(visit, id)),
  },
]
