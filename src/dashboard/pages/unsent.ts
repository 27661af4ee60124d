/**
 * Forms that were sent after the session had ended. The sign-in carries the form; the page after it
 * sends the form on request.
 */
import { Effect } from "effect"
import type { SignedIn } from "../../accounts/people/People.ts"
import { limits } from "../../Limits.ts"
import type { SentForm } from "../request/Kept.ts"
import type { Route, Visit } from "../request/Route.ts"
import { versionField } from "../view/Editing.ts"
import { type Html, html, visible } from "../view/Html.ts"
import { table } from "../view/Lists.ts"

/**
 * Hidden fields of the sign-in form that carry the other form: the server keeps nothing for people
 * who are not signed in.
 */
const carried = { path: "unsent.path", body: "unsent.body", action: "unsent.action" } as const

/** Fields that no page may show again. */
const secret: ReadonlySet<string> = new Set(["passkey", "password", "token"])

/** Fields that mean nothing to people. */
const silent: ReadonlySet<string> = new Set(["idempotencyKey", "intent", versionField])

const charactersShown = 200

const textsOf = ({ body }: SentForm): ReadonlyArray<readonly [name: string, text: string]> => [
  ...new URLSearchParams(body.toString("utf8")),
]

/** The typed texts, by which people recognise the form. */
const typedIn = (form: SentForm) =>
  textsOf(form).filter(([name, text]) => !silent.has(name) && text !== "")

/**
 * The form without secrets; `undefined` if nothing is typed or the form is too large to be carried.
 */
export const carriedForm = (form: SentForm): SentForm | undefined => {
  const texts = textsOf(form).filter(([name]) => !secret.has(name))
  const body = Buffer.from(new URLSearchParams(texts.map(([...pair]) => pair)).toString())
  const open = { ...form, body }
  return typedIn(open).length === 0 || body.length > limits.carriedFormBytesMax ? undefined : open
}

/** The hidden fields that carry the form. */
export const carriedFields = (form: SentForm | undefined): Html | undefined =>
  form &&
  html`<input type="hidden" name="${carried.path}" value="${form.path}">
<input type="hidden" name="${carried.action}" value="${form.action}">
<input type="hidden" name="${carried.body}" value="${form.body.toString("utf8")}">`

/** The form that a sign-in form carries. */
export const formCarriedBy = ({ form }: Visit): SentForm | undefined => {
  const path = form.optional(carried.path)
  return path === undefined
    ? undefined
    : { path, action: form.text(carried.action), body: Buffer.from(form.text(carried.body)) }
}

/** The address after a sign-in: that of the carried form, or `next` without one. */
export const nextAfter = (visit: Visit, { session }: SignedIn, next: string) =>
  Effect.gen(function* () {
    const { kept, people, prefix } = visit
    const form = formCarriedBy(visit)
    const isOurs = form?.path.startsWith(`${prefix}/`) === true
    const member = isOurs ? yield* people.find(session) : undefined
    if (member === undefined) return next
    return `${prefix}/unsent?form=${kept.keepForm(form!, member.session.id)}`
  })

export const unsentRoutes: ReadonlyArray<Route> = [
  {
    method: "GET",
    path: "/unsent",
    access: "member",
    answer: (visit) =>
      Effect.sync(() => {
        const { kept, member, prefix, request, show } = visit
        const sent = kept.form(request.query.get("form"), member.session.id)
        if (sent === undefined) {
          return show(
            "No form is kept",
            html`<p>A form is kept for an hour, until the server restarts.</p><p><a href="${prefix}">To the dashboard</a></p>`,
          )
        }
        const rows = typedIn(sent).map(([name, text]) => [
          html`<code>${name}</code>`,
          visible(text, charactersShown),
        ])
        return show(
          "Your form was not sent",
          html`<p>You were signed out when you sent it, so nothing was changed. What you typed is here: <code>${sent.action}</code> at <code>${sent.path}</code></p>
${table("What you typed", ["Field", "Text"], rows)}
<form method="post" action="${sent.path}">
${textsOf(sent).map(([name, text]) => html`<input type="hidden" name="${name}" value="${text}">`)}
<p class="row"><button class="main">Send it now</button> <a href="${prefix}">Drop it</a></p></form>`,
        )
      }),
  },
]
