/**
 * The ways in: the setup of the first owner, links to join and to reset, signing in and out,
 * confirming.
 */
import { Effect } from "effect"
import type { AuditAction } from "../../accounts/audit/AuditLog.ts"
import type { Proof, SignedIn } from "../../accounts/people/People.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import type { SentForm } from "../request/Kept.ts"
import type { MemberVisit, Route, Visit } from "../request/Route.ts"
import { otherFaults, textField } from "../view/Forms.ts"
import { html } from "../view/Html.ts"
import { alert } from "../view/Page.ts"
import { about, type Reply, redirect } from "../view/Replies.ts"
import { isByPasskey, passkeyButton, passkeyOf } from "./passkeys.ts"
import { startOf } from "./start.ts"
import { carriedFields, formCarriedBy, nextAfter } from "./unsent.ts"

/** The address if it is a path of the dashboard: no other site, and no injected header field. */
const nextOf = (text: string | null, prefix: string): string => {
  const here = "http://localhost"
  const { origin, pathname = "" } = (text !== null && URL.parse(text, here)) || {}
  const isOurs = origin === here && `${pathname}/`.startsWith(`${prefix}/`)
  return isOurs && !pathname.includes("//") ? pathname : prefix
}

const passwordHint = `At least ${limits.passwordCharactersMin} characters. A few words that do not belong together are easy to remember.`

interface LinkPage {
  readonly path: "setup" | "join" | "reset"
  readonly action: AuditAction
  readonly title: string
  readonly intro: string
  readonly button: string
  readonly passkeyLabel: string
}

const linkPages: ReadonlyArray<LinkPage> = [
  {
    path: "setup",
    action: "account.create",
    passkeyLabel: "Create account with a passkey",
    title: "Set up Laurel",
    intro: "Create the first account. It owns this server: all projects, and all other accounts.",
    button: "Create account",
  },
  {
    path: "join",
    action: "account.create",
    passkeyLabel: "Create account with a passkey",
    title: "Join Laurel",
    intro: "Create your account.",
    button: "Create account",
  },
  {
    path: "reset",
    action: "account.reset_password",
    passkeyLabel: "Use a new passkey instead of a password",
    title: "Choose a new password",
    intro:
      "Your old password stops working, and all your sessions end. Your passkeys stay: the next page lists them, so that you can remove those that are not yours.",
    button: "Change password",
  },
]

const linkForm = (
  visit: Visit,
  { button, intro, passkeyLabel, path, title }: LinkPage,
  error?: LaurelError,
): Reply => {
  const { form, prefix } = visit
  if (path === "setup" && visit.directory.accounts.size > 0) {
    return visit.show(
      "Laurel is set up",
      html`${error !== undefined && alert(error.detail)}
<p>The first account exists. <a href="${prefix}/sign-in">Sign in</a>, or ask an owner of this server for an invitation.</p>`,
      error,
    )
  }
  const faults = error?.errors
  const fields = ["email", "name", "password"]
  const where =
    path === "setup"
      ? "The server prints a link with this code when it starts."
      : "The part of your link after #."
  return visit.show(
    title,
    html`<p>${intro}</p>
${error !== undefined && faults === undefined && alert(error.detail)}
${otherFaults(faults, fields).map(alert)}
<form method="post">
<div class="field"><label for="token">Code</label>
<input id="token" name="token" data-token autocomplete="off" required aria-describedby="token-hint" value="${form.text("token")}">
<p class="hint" id="token-hint">${where}</p></div>
${
  path !== "reset" && [
    textField({
      name: "email",
      label: "E-mail address",
      type: "email",
      autocomplete: "username",
      value: form.text("email"),
      required: true,
      faults,
    }),
    textField({
      name: "name",
      label: "Name",
      autocomplete: "name",
      value: form.text("name"),
      required: true,
      faults,
    }),
  ]
}
${textField({
  name: "password",
  label: "Password",
  type: "password",
  autocomplete: "new-password",
  hint: passwordHint,
  required: true,
  faults,
})}
<button class="main">${button}</button>
${passkeyButton(visit, { kind: "create", label: passkeyLabel, options: `/${path}/passkey`, alone: true })}
</form>`,
    error,
  )
}

/** Notes in the audit log how somebody signed in. */
const withProof = (visit: Visit, reply: Reply): Reply =>
  about(reply, { detail: isByPasskey(visit) ? "by passkey" : "by password" })

const linkRoutes = (linkPage: LinkPage): ReadonlyArray<Route> => [
  {
    method: "GET",
    path: `/${linkPage.path}`,
    access: "anyone",
    answer: (visit) => Effect.succeed(linkForm(visit, linkPage)),
  },
  {
    method: "POST",
    action: linkPage.action,
    path: `/${linkPage.path}`,
    access: "anyone",
    answer: (visit) => {
      const { form, people, prefix, visitor } = visit
      const proof: Effect.Effect<Proof, LaurelError> = isByPasskey(visit)
        ? Effect.map(passkeyOf(visit), (given) => ({
            passkey: { ...given, name: "First passkey" },
          }))
        : Effect.succeed({ password: form.text("password") })
      const accepted = Effect.flatMap(proof, (proof) =>
        people.accept({
          token: form.text("token"),
          email: form.text("email"),
          name: form.text("name").trim(),
          proof,
          visitor,
        }),
      )
      const nextFor = (signedIn: SignedIn) => {
        if (linkPage.path === "setup") return startOf(visit, signedIn)
        return Effect.succeed(linkPage.path === "reset" ? `${prefix}/account` : prefix)
      }
      return visit.request.aside(accepted).pipe(
        Effect.flatMap((signedIn) =>
          Effect.map(nextFor(signedIn), (next) =>
            visit.signedIn(withProof(visit, redirect(next)), signedIn),
          ),
        ),
        Effect.catch((error) => Effect.succeed(linkForm(visit, linkPage, error))),
      )
    },
  },
]

/** The sign-in page for a form that was sent after the session had ended. `next` is encoded. */
interface Late {
  readonly next: string
  readonly form: SentForm
}

/** `late` is absent if the sign-in form carries the form itself. */
export const signInForm = (visit: Visit, late?: Late, error?: LaurelError): Reply => {
  const { directory, form, prefix, request } = visit
  if (directory.accounts.size === 0) {
    return visit.show(
      "No account exists yet",
      html`<p>Open the setup link that the server printed when it started. A restart prints a new one.</p>`,
    )
  }
  const next = late?.next ?? encodeURIComponent(request.query.get("next") ?? "")
  const carried = carriedFields(late?.form ?? formCarriedBy(visit))
  const start = html`<form method="post" action="${prefix}/sign-in${next !== "" && html`?next=${next}`}">${carried}`
  return visit.show(
    "Sign in",
    html`${error !== undefined && alert(error.detail)}
${carried !== undefined && html`<p>You are signed out, so nothing was changed. What you typed is kept: it follows once you are signed in.</p>`}
${start}
${textField({ name: "email", label: "E-mail address", type: "email", autocomplete: "username", value: late === undefined ? form.text("email") : "", required: true })}
${textField({ name: "password", label: "Password", type: "password", autocomplete: "current-password", required: true })}
<button class="main">Sign in</button>
</form>
${start}
${passkeyButton(visit, { kind: "get", label: "Sign in with a passkey", options: "/sign-in/passkey" })}
</form>
<p class="hint">Locked out? Ask an owner for a reset link, or create one on the server: <code>laurel accounts reset-password EMAIL</code></p>`,
    error,
  )
}

const confirmForm = (visit: MemberVisit, error?: LaurelError): Reply => {
  const { kept, member, request } = visit
  const { passkeys, password } = member.account
  const form = kept.form(request.query.get("form"), member.session.id)
  return visit.show(
    "Confirm that it is you",
    html`<p>${
      form === undefined
        ? "The next step shows a secret or cannot be undone."
        : html`What you sent shows a secret or cannot be undone: <code>${form.action}</code>. It is done once you confirm.`
    } A confirmation is valid for ten minutes.</p>
${error !== undefined && alert(error.detail)}
${
  password !== null &&
  html`<form method="post">
${textField({ name: "password", label: "Password", type: "password", autocomplete: "current-password", required: true })}
<button class="main">Confirm</button>
</form>`
}
${
  passkeys.length > 0 &&
  html`<form method="post">
${passkeyButton(visit, { kind: "get", label: "Confirm with a passkey", options: "/confirm/passkey", main: password === null })}
</form>`
}`,
    error,
  )
}

export const entranceRoutes: ReadonlyArray<Route> = [
  ...linkPages.flatMap(linkRoutes),
  {
    method: "GET",
    path: "/sign-in",
    access: "anyone",
    answer: (visit) => Effect.succeed(signInForm(visit)),
  },
  {
    method: "POST",
    action: "session.sign_in",
    path: "/sign-in",
    access: "anyone",
    answer: (visit) => {
      const { form, people, prefix, request, visitor } = visit
      const next = nextOf(request.query.get("next"), prefix)
      const signedIn = isByPasskey(visit)
        ? Effect.flatMap(passkeyOf(visit), (given) => people.passkeys.signIn(given, visitor))
        : people.signIn(form.text("email"), form.text("password"), visitor)
      return request.aside(signedIn).pipe(
        Effect.flatMap((signedIn) =>
          Effect.map(nextAfter(visit, signedIn, next), (address) =>
            visit.signedIn(withProof(visit, redirect(address)), signedIn),
          ),
        ),
        Effect.catch((error) => Effect.succeed(signInForm(visit, undefined, error))),
      )
    },
  },
  {
    method: "POST",
    action: "session.sign_out",
    path: "/sign-out",
    access: "member",
    answer: ({ member, people, prefix, signedOut }) =>
      Effect.as(people.signOut(member), signedOut(redirect(`${prefix}/sign-in`))),
  },
  {
    method: "GET",
    path: "/confirm",
    access: "member",
    answer: (visit) => Effect.succeed(confirmForm(visit)),
  },
  {
    method: "POST",
    action: "session.confirm",
    path: "/confirm",
    access: "member",
    answer: (visit) => {
      const { form, kept, member, people, prefix, request, visitor } = visit
      const next = nextOf(request.query.get("next"), prefix)
      const resumed = (reply: Reply): Reply => {
        const resume = kept.takeForm(request.query.get("form"), member.session.id)
        return resume === undefined ? reply : { ...reply, resume }
      }
      const confirmed = isByPasskey(visit)
        ? Effect.flatMap(passkeyOf(visit), (given) => people.passkeys.confirm(member, given))
        : people.confirm(member, form.text("password"), visitor)
      return request.aside(confirmed).pipe(
        Effect.map(() => resumed(withProof(visit, redirect(next)))),
        Effect.catch((error) => Effect.succeed(confirmForm(visit, error))),
      )
    },
  },
]
