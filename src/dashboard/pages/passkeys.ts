/** Options with which a script of another page asks the browser for a passkey. None of them changes anything. */
import { Effect } from "effect"
import type { Route } from "../request/Route.ts"
import { optionsReply } from "./passkeyForms.ts"

export const passkeyRoutes: ReadonlyArray<Route> = [
  ...(["setup", "join", "reset"] as const).map(
    (path): Route => ({
      method: "POST",
      path: `/${path}/passkey`,
      access: "anyone",
      action: "none",
      answer: (visit) => {
        const { form, people } = visit
        const wish = {
          token: form.text("token"),
          email: form.text("email"),
          name: form.text("name").trim(),
        }
        return optionsReply(visit, (ceremony) => people.passkeys.optionsToAccept(wish, ceremony))
      },
    }),
  ),
  {
    method: "POST",
    path: "/sign-in/passkey",
    access: "anyone",
    action: "none",
    answer: (visit) =>
      optionsReply(visit, (ceremony) =>
        Effect.succeed(visit.people.passkeys.optionsToSignIn(ceremony)),
      ),
  },
  {
    method: "POST",
    path: "/confirm/passkey",
    access: "member",
    action: "none",
    answer: (visit) =>
      optionsReply(visit, (ceremony) =>
        Effect.succeed(visit.people.passkeys.optionsToConfirm(visit.member, ceremony)),
      ),
  },
  {
    method: "POST",
    path: "/account/passkeys/options",
    access: "member",
    action: "none",
    answer: (visit) =>
      optionsReply(visit, (ceremony) => visit.people.passkeys.optionsToAdd(visit.member, ceremony)),
  },
]
