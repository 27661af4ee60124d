/** Passkeys in the forms of pages, and the routes of their options. The options change nothing. */
import { randomBytes } from "node:crypto"
import { Effect } from "effect"
import type { Ceremony } from "../../accounts/passkeys/Passkeys.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import type { MemberVisit, Route, Visit } from "../request/Route.ts"
import { type Html, html } from "../view/Html.ts"
import { jsonReply, type Reply } from "../view/Replies.ts"

/*
 * The script `passkeys.ts` asks for options, lets the browser create or use a passkey, and sends
 * the form with the browser's answer in a hidden field. The route of the form answers.
 */

interface PasskeyButton {
  readonly label: string
  readonly kind: "create" | "get"
  /** The path of the options, after the prefix. */
  readonly options: string
  /** Whether the form's other required fields may be empty. */
  readonly alone?: boolean
  readonly main?: boolean
}

/**
 * A button that fills the form with a passkey. Without a script or at an IP address: the reason why
 * there is none.
 */
export const passkeyButton = (
  { asset, prefix, relyingParty }: Visit,
  { alone = false, kind, label, main = false, options }: PasskeyButton,
): Html =>
  typeof relyingParty === "string"
    ? html`<p class="hint">${relyingParty}</p>`
    : html`<input type="hidden" name="passkey">
<button name="with" value="passkey"${main && html` class="main"`} data-passkey="${kind}" data-options="${prefix}${options}"${
        alone && html` formnovalidate`
      } hidden>${label}</button>
<p class="alert" role="alert" hidden></p>
<p class="hint" data-no-passkey>Passkeys need a script, and a browser that has them.</p>
<script type="module" src="${asset("passkeys.js")}"></script>`

/** Whether the form was sent with its passkey button. */
export const isByPasskey = ({ form }: Visit): boolean => form.text("with") === "passkey"

const isMember = (visit: Visit | MemberVisit): visit is MemberVisit => "member" in visit

/** What the form's passkey is bound to: this address, and the session or the browser. */
const ceremonyIn = (
  { relyingParty }: Visit,
  browser: string | undefined,
): Effect.Effect<Ceremony, LaurelError> => {
  if (typeof relyingParty === "string") {
    return Effect.fail(laurelError("invalid_request", relyingParty))
  }
  return browser === undefined
    ? Effect.fail(
        laurelError("invalid_request", "The browser sends no cookies. Allow them for this page."),
      )
    : Effect.succeed({ ...relyingParty, browser })
}

/** The answer of the browser in a form, and the ceremony that it belongs to. */
export const passkeyOf = (visit: Visit | MemberVisit) =>
  Effect.map(
    ceremonyIn(visit, isMember(visit) ? visit.member.session.id : visit.browser),
    (ceremony) => ({ answer: visit.form.text("passkey"), ceremony }),
  )

/** Replies with options. A browser without a session gets a cookie that binds the options to it. */
const optionsReply = (
  visit: Visit | MemberVisit,
  make: (ceremony: Ceremony) => Effect.Effect<object, LaurelError>,
): Effect.Effect<Reply, LaurelError> => {
  if (isMember(visit)) {
    const ceremony = ceremonyIn(visit, visit.member.session.id)
    return Effect.map(Effect.flatMap(ceremony, make), jsonReply)
  }
  const browser = visit.browser ?? randomBytes(32).toString("base64url")
  return Effect.map(Effect.flatMap(ceremonyIn(visit, browser), make), (options) =>
    visit.inBrowser(jsonReply(options), browser),
  )
}

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
