/** The page of one's own account: name and address, passkeys, password, sessions. */
import { Effect } from "effect"
import type { AuditAction } from "../../accounts/audit/AuditLog.ts"
import type { Member } from "../../accounts/people/People.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { type MemberVisit, memberForm, type Route } from "../request/Route.ts"
import { confirmButton, textField } from "../view/Forms.ts"
import { type Html, html } from "../view/Html.ts"
import { table } from "../view/Lists.ts"
import { alert } from "../view/Page.ts"
import { time } from "../view/Quantities.ts"
import { about, type Reply, redirect } from "../view/Replies.ts"
import { passkeyButton, passkeyOf } from "./passkeys.ts"

type Part = "passkeys" | "password" | "profile" | "sessions"

/** A refused form of the page. */
interface Failed {
  readonly part: Part
  readonly error: LaurelError
}

const accountPage = Effect.fnUntraced(function* (
  visit: MemberVisit,
  failed?: Failed,
): Effect.fn.Return<Reply> {
  const { member, people, show } = visit
  const sessions = yield* people.sessionsOf(member.account.id)
  return show(
    "Account",
    html`${profileSection(visit, failed)}
${passkeysSection(visit, failed)}
${passwordSection(visit, failed)}
${sessionsSection(visit, sessions, failed)}`,
    failed?.error,
  )
})

/** The reason of a refusal that is about no field of `part`. */
const alertOf = (failed: Failed | undefined, part: Part): Html | false =>
  failed !== undefined &&
  failed.part === part &&
  failed.error.errors === undefined &&
  alert(failed.error.detail)

const faultsOf = (failed: Failed | undefined, part: Part): LaurelError["errors"] =>
  failed?.part === part ? failed.error.errors : undefined

const profileSection = ({ form, member, prefix }: MemberVisit, failed?: Failed): Html => {
  const { account } = member
  const typed = failed?.part === "profile" ? form.text("name") : account.name
  return html`<h2>Name and address</h2>
${alertOf(failed, "profile")}
<form method="post" action="${prefix}/account/profile">
${textField({ name: "name", label: "Name", autocomplete: "name", value: typed, required: true, faults: faultsOf(failed, "profile") })}
<button>Save name</button></form>
<p>E-mail address: ${account.email}</p>
<p class="hint">${
    account.access.owner
      ? html`Change the address under <a href="${prefix}/team/${account.id}">Team</a>.`
      : "The address names you in the audit log. An owner can change it."
  }</p>`
}

const passkeysSection = (visit: MemberVisit, failed?: Failed): Html => {
  const { form, member, prefix } = visit
  const { passkeys } = member.account
  return html`<h2>Passkeys</h2>
<p class="hint">A passkey signs you in with the lock of your device, and confirms what cannot be undone. Nobody can phish or guess it.</p>
${alertOf(failed, "passkeys")}
${
  passkeys.length > 0 &&
  table(
    "Passkeys",
    ["Name", "Created", "Last used", "Actions"],
    passkeys.map(({ createdAt, id, name, usedAt }) => [
      name,
      time(createdAt),
      time(usedAt),
      confirmButton({
        id: `remove-${id}`,
        button: "Remove",
        confirm: "Remove passkey",
        keep: "Keep it",
        title: `Remove ${name}?`,
        detail: "It no longer signs you in. Sessions that began with it stay until you end them.",
        action: `${prefix}/account/passkeys/${id}/remove`,
      }),
    ]),
  )
}
<form method="post" action="${prefix}/account/passkeys">
${textField({ name: "passkeyName", label: "Name of the new passkey", hint: "To tell your passkeys apart, such as the name of the device.", value: failed?.part === "passkeys" ? form.text("passkeyName") : "", charactersMax: limits.passkeyNameCharactersMax, required: true, faults: faultsOf(failed, "passkeys") })}
${passkeyButton(visit, { kind: "create", label: "Add passkey", options: "/account/passkeys/options" })}
</form>`
}

const passwordSection = ({ member, prefix }: MemberVisit, failed?: Failed): Html =>
  html`<h2>Password</h2>
${alertOf(failed, "password")}
<form method="post" action="${prefix}/account/password">
${textField({ name: "password", label: "New password", type: "password", autocomplete: "new-password", hint: `At least ${limits.passwordCharactersMin} characters. All your other sessions end, and open links that you made.`, required: true, faults: faultsOf(failed, "password") })}
<button>${member.account.password === null ? "Set password" : "Change password"}</button></form>`

const sessionsSection = (
  { member, prefix }: MemberVisit,
  sessions: ReadonlyArray<Member["session"]>,
  failed?: Failed,
): Html =>
  html`<h2>Sessions</h2>
${alertOf(failed, "sessions")}
${table(
  "Sessions",
  ["Browser", "Address", "Signed in", "Last used", "Actions"],
  sessions.map(({ address, agent, createdAt, id, usedAt }) => [
    browserName(agent),
    address,
    time(createdAt),
    time(usedAt),
    id === member.session.id
      ? "this session"
      : html`<form method="post" action="${prefix}/account/sessions/${id}/end"><button>End session</button></form>`,
  ]),
)}
${
  sessions.length > 1 &&
  html`<form method="post" action="${prefix}/account/sessions/end-others"><p><button>End all other sessions</button></p></form>`
}`

const browsers = [
  [/\bEdg\w*\/(\d+)/, "Edge"],
  [/\bOPR\/(\d+)/, "Opera"],
  [/\b(?:Firefox|FxiOS)\/(\d+)/, "Firefox"],
  [/\b(?:HeadlessChrome|Chrome|CriOS)\/(\d+)/, "Chrome"],
  [/\bVersion\/(\d+).*\bSafari\//, "Safari"],
] as const
const systems = [
  [/\b(?:iPhone|iPad)\b/, "iOS"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bLinux\b/, "Linux"],
] as const

/**
 * "Firefox 140 on Linux", since nearly all user agents begin alike. The user agent itself if the
 * browser is unknown.
 */
export const browserName = (agent: string): string => {
  const system = systems.find(([pattern]) => pattern.test(agent))?.[1]
  for (const [pattern, name] of browsers) {
    const version = pattern.exec(agent)?.[1]
    if (version !== undefined)
      return `${name} ${version}${system === undefined ? "" : ` on ${system}`}`
  }
  return agent === "" ? "unknown" : agent.slice(0, 200)
}

/** A form of the page. It redirects to the page, or shows the page with the reason of a refusal. */
const formRoute = (
  path: string,
  part: Part,
  action: AuditAction,
  change: (visit: MemberVisit) => Effect.Effect<Reply, LaurelError>,
): Route =>
  memberForm("member", `/account/${path}`, action, change, (visit, error) =>
    accountPage(visit, { part, error }),
  )

const back = ({ prefix }: MemberVisit): Reply => redirect(`${prefix}/account`)

export const accountRoutes: ReadonlyArray<Route> = [
  { method: "GET", path: "/account", access: "member", answer: (visit) => accountPage(visit) },
  formRoute("profile", "profile", "account.change_profile", (visit) => {
    const { form, member, people } = visit
    const name = form.text("name").trim()
    return Effect.as(
      people.rename(member, name),
      about(back(visit), { detail: `${member.account.name} → ${name}` }),
    )
  }),
  formRoute("password", "password", "account.change_password", (visit) => {
    const { form, member, people, request, visitor } = visit
    const changed = people.changePassword(member, form.text("password"), visitor)
    return Effect.map(request.aside(changed), (signedIn) => visit.signedIn(back(visit), signedIn))
  }),
  formRoute("passkeys", "passkeys", "passkey.add", (visit) => {
    const { form, member, people } = visit
    const name = form.text("passkeyName").trim()
    const added = Effect.flatMap(passkeyOf(visit), (given) =>
      people.passkeys.add(member, { ...given, name }),
    )
    return Effect.as(added, about(back(visit), { detail: `${member.account.name} → ${name}` }))
  }),
  formRoute("passkeys/:passkey/remove", "passkeys", "passkey.remove", (visit) => {
    const { member, params, people } = visit
    const removed = member.account.passkeys.find(({ id }) => id === params.passkey)
    return Effect.as(
      people.passkeys.remove(member, params.passkey!),
      about(back(visit), { detail: removed?.name ?? "" }),
    )
  }),
  formRoute("sessions/end-others", "sessions", "session.end_others", (visit) =>
    Effect.as(visit.people.signOutOthers(visit.member), back(visit)),
  ),
  formRoute("sessions/:session/end", "sessions", "session.end", (visit) =>
    Effect.as(visit.people.signOut(visit.member, visit.params.session!), back(visit)),
  ),
]
