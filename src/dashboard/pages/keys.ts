/** The API keys of one environment: create and rotate (the text is shown once), list, revoke. */

import { Effect } from "effect"
import type { CreatedKey, KeyDetails } from "../../accounts/ApiKeys.ts"
import {
  keyKinds,
  limitOf,
  rotationOverlaps,
  scopeOf,
  scopes,
} from "../../domain/project/Directory.ts"
import { type Fault, type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { confirmHint } from "../request/notice.ts"
import {
  asker,
  mayChange,
  orPage,
  type PlaceVisit,
  placeForm,
  placePage,
  type Route,
} from "../request/Route.ts"
import { boardRequest, commandsOf, commandTabs, eventRequest, secretBox } from "../view/Commands.ts"
import {
  areaField,
  confirmButton,
  emptyForm,
  idempotencyField,
  refusal,
  selectField,
  textField,
} from "../view/Forms.ts"
import { type Content, type Html, html, isolated } from "../view/Html.ts"
import { offsetPage, table, tabs, withQuery } from "../view/Lists.ts"
import { capitalized, count, isoTime } from "../view/Quantities.ts"
import { about, type Reply, redirect } from "../view/Replies.ts"

const path = "/keys"

const kindLabels = {
  secret: "secret: for servers, does what its scope allows",
  publishable: "publishable: for web pages and apps, reads leaderboards, badges and active quests",
} as const
const scopeLabels = {
  full: "full: read and change everything",
  ingest: "ingest: send events",
  read: "read: read everything, change nothing",
} as const
/** By days. */
const expiries: ReadonlyArray<readonly [string, string]> = [
  ["never", "never"],
  ["7", "in 7 days"],
  ["30", "in 30 days"],
  ["90", "in 90 days"],
  ["365", "in a year"],
]
const overlapLabels = {
  "0": "at once",
  "1h": "in an hour",
  "24h": "in 24 hours",
  "7d": "in 7 days",
} as const

const statusLabels = { in_force: "in force", expired: "expired", revoked: "revoked" } as const
const filters = { in_force: "in force", ended: "expired or revoked", all: "all" } as const

/** The keys of the environment, newest first. */
const keysOf = ({ keys, place }: PlaceVisit) =>
  Effect.map(keys.listOf(place.project.id, place.environment), (all) => [...all].reverse())

/** The key in the path. A key of another environment is not found. */
const ownKey = (visit: PlaceVisit): Effect.Effect<KeyDetails, LaurelError> =>
  Effect.flatMap(keysOf(visit), (own) => {
    const found = own.find(({ id }) => id === visit.params.key)
    return found === undefined ? Effect.fail(keyNotFound) : Effect.succeed(found)
  })

const usedFrom = ({ allowedCidrs, allowedOrigins }: KeyDetails): Content => {
  const all = [...allowedOrigins, ...allowedCidrs]
  return all.length === 0
    ? "anywhere"
    : all.map((one, index) => html`${index > 0 && html`<br>`}<code>${one}</code>`)
}

const nameOf = ({ hint, name }: KeyDetails): string => (name === "" ? `${hint}…` : name)

/** The actions on a key in force. */
const actions = (visit: PlaceVisit, key: KeyDetails): Html => {
  const { base, place } = visit
  const which = `${nameOf(key)} of ${place.environment}`
  return html`<div class="row">${
    key.replacedBy === null &&
    confirmButton({
      id: `rotate-${key.id}`,
      button: "Rotate",
      confirm: "Rotate key",
      keep: "Keep it",
      title: `Rotate ${which}?`,
      detail:
        "A new key with the same properties is created and shown once. Both work until the old one expires; an earlier expiry stays.",
      action: `${base}/keys/${key.id}/rotate`,
      fields: html`<p><label>The old key expires <select name="overlap">${rotationOverlaps.map(
        (overlap) =>
          html`<option value="${overlap}"${overlap === "24h" && html` selected`}>${overlapLabels[overlap]}</option>`,
      )}</select></label></p>`,
      danger: false,
    })
  }
${confirmButton({
  id: `revoke-${key.id}`,
  button: "Revoke",
  confirm: "Revoke key",
  keep: "Keep it",
  title: `Revoke ${which}?`,
  detail: "Requests with this key are refused at once. A revoked key cannot be brought back.",
  action: `${base}/keys/${key.id}/revoke`,
})}</div>`
}

const heads = ["Key", "Scope", "Allowed from", "Created by"]

const keyRow = (visit: PlaceVisit, key: KeyDetails, allowed: boolean): ReadonlyArray<Content> => [
  html`${key.name !== "" && html`${isolated(key.name)}<br>`}<code>${key.hint}…</code>`,
  scopeOf(key),
  usedFrom(key),
  html`${key.createdBy === "operator" ? "command line" : isolated(key.createdBy)}<br>${isoTime(key.createdAt)}`,
  isoTime(key.lastUsedAt),
  html`${statusLabels[key.status]}${key.replacedBy !== null && ", rotated"}${
    key.expiresAt !== null &&
    html`<br>${key.status === "expired" ? "since" : "expires"} ${isoTime(key.expiresAt)}`
  }`,
  ...(allowed ? [key.status === "in_force" && actions(visit, key)] : []),
]

/** The text of a key that was just created, with commands that use it. */
const createdSection = (origin: string, list: ReadonlyArray<KeyDetails>, text: string): Html => {
  const reads = list.find(({ hint }) => text.startsWith(hint))?.scope === "read"
  return html`<section aria-labelledby="created"><h2 id="created">Your new key</h2>
<p>Copy it now: it is not shown again.</p>
${secretBox("key", "the key", text)}
<p>${reads ? "Read the leaderboard:" : "Send an event:"}</p>
${commandTabs(commandsOf(origin, text, reads ? boardRequest : eventRequest))}</section>`
}

const listSection = (visit: PlaceVisit, list: ReadonlyArray<KeyDetails>, allowed: boolean) => {
  const { place, request } = visit
  if (list.length === 0) {
    return html`<p>A key lets an app send events and read what users earned. ${place.environment} has no key yet${
      allowed ? ": create the first one below." : "; an admin of the project can create one."
    }</p>`
  }
  const asked = request.query.get("status") ?? ""
  const status = Object.hasOwn(filters, asked) ? (asked as keyof typeof filters) : "in_force"
  const found = list.filter(
    (key) => status === "all" || (key.status === "in_force") === (status === "in_force"),
  )
  const shown = offsetPage(request.path, request.query, found, limits.pageDefault)
  return html`${tabs(
    "Status",
    Object.entries(filters).map(([value, label]) => [
      value,
      capitalized(label),
      withQuery(request.path, request.query, {
        status: value === "in_force" ? undefined : value,
        offset: undefined,
      }),
    ]),
    status as string,
  )}
${
  shown.items.length === 0
    ? html`<p>No key is ${filters[status]}${found.length > 0 && " on this page"}.</p>`
    : table(
        "API keys",
        [...heads, "Last used", "Status", ...(allowed ? ["Actions"] : [])],
        shown.items.map((key) => keyRow(visit, key, allowed)),
      )
}
${shown.pager}`
}

/** Faults of the items of a list name the typed line. */
const withLines = (faults: ReadonlyArray<Fault> | undefined, form: PlaceVisit["form"]) =>
  faults?.map((fault) => {
    const [, name, index] = /^\/(allowedOrigins|allowedCidrs)\/(\d+)$/.exec(fault.pointer) ?? []
    const line = name === undefined ? undefined : form.lines(name)[Number(index)]
    return line === undefined
      ? fault
      : { ...fault, detail: `“${line.slice(0, 60)}” ${fault.detail}` }
  })

const fields = ["name", "kind", "scope", "expires", "allowedOrigins.*", "allowedCidrs.*"]

const createForm = (visit: PlaceVisit, error: LaurelError | undefined): Html => {
  const { base, form } = visit
  const faults = withLines(error?.errors, form)
  return html`<h2>Create key</h2>
${confirmHint(visit, "A production key", `${base}/keys`)}
<form method="post" action="${base}/keys">${idempotencyField()}
${textField({ name: "name", label: "Name", value: form.text("name"), charactersMax: limits.keyNameCharactersMax, hint: "Purpose of the key, such as Backend. If empty, the key is named after its kind or scope.", faults })}
${selectField({ name: "kind", label: "Kind", options: keyKinds.map((one) => [one, kindLabels[one]]), value: form.text("kind"), faults })}
${selectField({ name: "scope", label: "Scope of a secret key", options: scopes.map((one) => [one, scopeLabels[one]]), value: form.text("scope"), faults })}
${selectField({ name: "expires", label: "Expires", options: expiries, value: form.text("expires") || "never", faults })}
${areaField({ name: "allowedOrigins", label: "Allowed origins of web pages", value: form.text("allowedOrigins"), hint: "Origins such as https://app.example:8443, one a line. All, if empty.", code: true, below: true, faults })}
${areaField({ name: "allowedCidrs", label: "Allowed IP addresses", value: form.text("allowedCidrs"), hint: "Addresses or ranges such as 203.0.113.0/24, one a line. All, if empty.", code: true, below: true, faults })}
<button class="main">Create key</button></form>`
}

const limitSentence = ({ place }: PlaceVisit): string => {
  const { requestsPerMinute, tier } = limitOf(place.project)
  const most =
    requestsPerMinute === null ? "no rate limit" : `${count(requestsPerMinute)} requests a minute`
  return `The tier of the project is ${tier}: ${most} in ${place.environment}, however many keys it has.`
}

const keysPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  error?: LaurelError,
): Effect.fn.Return<Reply, LaurelError> {
  const { member, once, origin, request, show } = visit
  const list = yield* keysOf(visit)
  const created = once.take(request.query.get("created"), member.session.id)
  const allowed = mayChange(visit)
  return show(
    "API keys",
    html`${created !== undefined && createdSection(origin, list, created)}
${refusal(error, fields)}
${listSection(visit, list, allowed)}
<p class="hint">${limitSentence(visit)}</p>
${allowed && createForm(visit, error)}`,
    error,
  )
})

const chosen = <A extends string>(text: string, allowed: ReadonlyArray<A>): A | undefined =>
  allowed.find((one) => one === text)

const create = (visit: PlaceVisit): Effect.Effect<CreatedKey, LaurelError> => {
  const { form, keys, now, place } = visit
  const kind = chosen(form.text("kind") || "secret", keyKinds)
  const scope = kind === "publishable" ? "read" : chosen(form.text("scope"), scopes)
  const expiry = expiries.find(([value]) => value === form.text("expires"))?.[0]
  if (kind === undefined || scope === undefined || expiry === undefined) {
    return Effect.fail(chooseOption)
  }
  const name = form.optional("name")
  const wish = {
    project: place.project.name,
    inProject: place.project.id,
    environment: place.environment,
    kind,
    scope,
    allowedOrigins: form.lines("allowedOrigins"),
    allowedCidrs: form.lines("allowedCidrs"),
    ...(name !== undefined && { name }),
    ...(expiry !== "never" && {
      expiresAt: new Date(now() + Number(expiry) * 86_400_000).toISOString(),
    }),
  }
  return keys.create(wish, asker(visit))
}

/** Redirects to the page, which shows the text once. */
const withText = ({ base, member, once }: PlaceVisit, { key }: CreatedKey): Reply =>
  redirect(`${base}/keys?created=${once.keep(key, member.session.id)}`)

/**
 * The page with the reason of a refusal. The fields of a new key keep their texts only if that form
 * was refused.
 */
const orKeysPage = (visit: PlaceVisit, answer: Effect.Effect<Reply, LaurelError>) =>
  orPage(answer, (error) => keysPage(visit, error))

export const keyRoutes: ReadonlyArray<Route> = [
  placePage(path, (visit) => keysPage(visit)),
  placeForm(path, "key.create", (visit) =>
    orKeysPage(
      visit,
      Effect.map(create(visit), (created) =>
        about(withText(visit, created), {
          subject: created.id,
          detail: scopeOf(created),
        }),
      ),
    ),
  ),
  placeForm(`${path}/:key/rotate`, "key.rotate", (visit) => {
    const overlap = chosen(visit.form.text("overlap"), rotationOverlaps)
    return orKeysPage(
      { ...visit, form: emptyForm },
      Effect.gen(function* () {
        const { id } = yield* ownKey(visit)
        if (overlap === undefined) return yield* Effect.fail(chooseOption)
        const created = yield* visit.keys.rotate(id, overlap, asker(visit))
        const detail = `in place of ${id}, ${scopeOf(created)}`
        return about(withText(visit, created), { subject: created.id, detail })
      }),
    )
  }),
  placeForm(`${path}/:key/revoke`, "key.revoke", (visit) =>
    orKeysPage(
      { ...visit, form: emptyForm },
      Effect.gen(function* () {
        const { base, keys } = visit
        const key = yield* ownKey(visit)
        yield* keys.revoke(key.id, asker(visit))
        return about(redirect(`${base}/keys`), { detail: scopeOf(key) })
      }),
    ),
  ),
]

const keyNotFound = laurelError("key_not_found", "No key in force has this id.")
const chooseOption = laurelError(
  "invalid_request",
  "Choose one of the listed options in each field.",
)
