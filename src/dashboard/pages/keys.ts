/** The API keys of one environment: create (the text is shown once), list, revoke. */
import { Effect } from "effect"
import type { KeyDetails } from "../../accounts/ApiKeys.ts"
import { includesRole, isConfirmed, roleIn } from "../../domain/accounts/Account.ts"
import { scopes, tiers } from "../../domain/project/Directory.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import type { PlaceVisit, Route } from "../request/Route.ts"
import { emptyForm, otherFaults, selectField } from "../view/Forms.ts"
import { type Html, html } from "../view/Html.ts"
import { alert, placePath, time } from "../view/Page.ts"
import { about, type Reply, redirect } from "../view/Replies.ts"

const path = "/:project/:environment/keys"

const scopeLabels = {
  full: "full: everything",
  ingest: "ingest: send events",
  read: "read: look, change nothing",
} as const
const tierLabels = {
  free: "free: 100 requests a minute",
  pro: "pro: 1,000 requests a minute",
  enterprise: "enterprise: no limit",
} as const
/** By days. */
const expiries: ReadonlyArray<readonly [string, string]> = [
  ["never", "never"],
  ["7", "in 7 days"],
  ["30", "in 30 days"],
  ["90", "in 90 days"],
  ["365", "in a year"],
]

/** The keys of the environment, newest first. */
const keysOf = ({ keys, place }: PlaceVisit) =>
  Effect.map(keys.list, (all) =>
    all
      .filter(
        ({ environment, project }) =>
          project === place.project.name && environment === place.environment,
      )
      .reverse(),
  )

const statusLabels = { in_force: "in force", expired: "expired", revoked: "revoked" } as const

const keyRow = (visit: PlaceVisit, key: KeyDetails, mayChange: boolean): Html => {
  const dialog = `revoke-${key.id}`
  return html`<tr>
<td><code>${key.hint}…</code></td><td>${key.scope}</td>
<td>${key.rateLimit === null ? "no limit" : `${key.rateLimit} a minute`}</td>
<td>${time(Date.parse(key.createdAt))}</td>
<td>${time(key.expiresAt === null ? null : Date.parse(key.expiresAt))}</td>
<td>${statusLabels[key.status]}</td>
<td>${
    mayChange &&
    key.status === "in_force" &&
    html`<button class="danger" command="show-modal" commandfor="${dialog}">Revoke</button>
<dialog id="${dialog}" aria-labelledby="${dialog}-title"><h2 id="${dialog}-title">Revoke ${key.hint}… of ${visit.place.environment}?</h2>
<p>Requests with this key are refused at once. A revoked key cannot be brought back.</p>
<div class="row"><button command="close" commandfor="${dialog}" autofocus>Keep it</button>
<form method="post" action="${placePath(visit.prefix, visit.place)}/keys/${key.id}/revoke"><button class="danger">Revoke key</button></form></div></dialog>`
  }</td></tr>`
}

const keysPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  error?: LaurelError,
): Effect.fn.Return<Reply, LaurelError> {
  const { form, member, once, place, prefix, request, show } = visit
  const list = yield* keysOf(visit)
  const created = once.take(request.query.get("created"), member.session.id)
  const mayChange = includesRole(roleIn(member.account, place.project.id), "admin")
  const fields = ["scope", "tier", "expires"]
  return show(
    `API keys of ${place.project.name}, ${place.environment}`,
    html`
${
  created !== undefined &&
  html`<section aria-labelledby="created"><h2 id="created">Your new key</h2>
<p>Copy it now: it is not shown again.</p>
<code class="secret" id="key" tabindex="0">${created}</code>
<p><button data-copy="key" hidden>Copy</button></p>
<p>Send an event:</p>
<pre tabindex="0" role="region" aria-label="Command">curl -H "Authorization: Bearer ${created}" -H "Content-Type: application/json" \\
  -d '{"userId":"ada","action":"LESSON_DONE"}' ${visit.origin}/v1/events</pre></section>`
}
${error !== undefined && error.errors === undefined && alert(error.detail)}
${otherFaults(error?.errors, fields).map(alert)}
${
  list.length === 0
    ? html`<p>A key lets an app send events and read what they earned. There is none for ${place.environment} yet.</p>`
    : html`<div class="scroll" tabindex="0" role="region" aria-label="API keys"><table>
<thead><tr><th scope="col">Key</th><th scope="col">Scope</th><th scope="col">Rate limit</th><th scope="col">Created</th><th scope="col">Expires</th><th scope="col">Status</th><th scope="col">Actions</th></tr></thead>
<tbody>${list.slice(0, 100).map((key) => keyRow(visit, key, mayChange))}</tbody></table></div>`
}
${list.length > 100 && html`<p class="hint">The newest 100 of ${list.length} are shown.</p>`}
${
  mayChange &&
  html`<h2>Create key</h2>
<form method="post" action="${placePath(prefix, place)}/keys">
${selectField({ name: "scope", label: "Scope", options: scopes.map((one) => [one, scopeLabels[one]]), value: form.text("scope"), faults: error?.errors })}
${selectField({ name: "tier", label: "Tier", options: tiers.map((one) => [one, tierLabels[one]]), value: form.text("tier") || "enterprise", faults: error?.errors })}
${selectField({ name: "expires", label: "Expires", options: expiries, value: form.text("expires") || "never", faults: error?.errors })}
<button class="main">Create key</button></form>`
}`,
    error === undefined ? 200 : 400,
  )
})

const chosen = <A extends string>(text: string, allowed: ReadonlyArray<A>): A | undefined =>
  allowed.find((one) => one === text)

export const keyRoutes: ReadonlyArray<Route> = [
  { method: "GET", path, access: "project", role: "viewer", answer: (visit) => keysPage(visit) },
  {
    method: "POST",
    action: "key.create",
    path,
    access: "project",
    role: "admin",
    answer: (visit) => {
      const { form, keys, member, now, once, place, prefix } = visit
      const scope = chosen(form.text("scope"), scopes)
      const tier = chosen(form.text("tier"), tiers)
      const days = form.text("expires")
      if (
        scope === undefined ||
        tier === undefined ||
        !expiries.some(([value]) => value === days)
      ) {
        return keysPage(visit, laurelError("invalid_request", "Choose one of the options."))
      }
      if (place.environment === "production" && !isConfirmed(member.session, now())) {
        return Effect.fail(confirmFirst)
      }
      const expiresAt = days === "never" ? undefined : now() + Number(days) * 86_400_000
      return keys
        .create({
          project: place.project.name,
          environment: place.environment,
          scope,
          tier,
          ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
        })
        .pipe(
          Effect.map(({ id, key }) => {
            const name = once.keep(key, member.session.id)
            const shown = redirect(`${placePath(prefix, place)}/keys?created=${name}`)
            return about(shown, { subject: id, detail: `${scope}, ${tier}` })
          }),
          Effect.catch((error) => keysPage(visit, error)),
        )
    },
  },
  {
    method: "POST",
    action: "key.revoke",
    path: `${path}/:key/revoke`,
    access: "project",
    role: "admin",
    answer: (visit) =>
      Effect.gen(function* () {
        const { keys, params, place, prefix } = visit
        const own = yield* keysOf(visit)
        // A key of another environment is none of this page's.
        if (!own.some(({ id }) => id === params.key)) return yield* Effect.fail(keyNotFound)
        yield* keys.revoke(params.key!)
        return redirect(`${placePath(prefix, place)}/keys`)
      }).pipe(Effect.catch((error) => keysPage({ ...visit, form: emptyForm }, error))),
  },
]

const keyNotFound = laurelError("key_not_found", "No key in force has this id.")
const confirmFirst = laurelError("confirmation_required", "Confirm with your password first.")
