/** Get started: a key, commands that work as they stand, and the first event as it arrives. */
import { Effect } from "effect"
import { logged, RequestOrigin } from "../../accounts/audit/AuditLog.ts"
import type { SignedIn } from "../../accounts/people/People.ts"
import { firstProjectName, projectNamed, scopeOf } from "../../domain/project/Directory.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { liveSection, positionNow } from "../request/following.ts"
import { type PlaceVisit, placePage, type Route, type Visit } from "../request/Route.ts"
import {
  commandBox,
  commandsOf,
  curl,
  eventRequest,
  keyVariable,
  secretBox,
} from "../view/Commands.ts"
import { type Html, html } from "../view/Html.ts"
import type { Reply } from "../view/Replies.ts"

const ruleRequest = { path: "rules", body: `{"action":"LESSON_DONE","reward":{"xp":50}}` }

const keyPart = (base: string, key: string | undefined): Html =>
  key === undefined
    ? html`<p>The commands need an API key in the variable <code>KEY</code> of the shell: <code>KEY=lk_test_…</code>. A key is shown only once, when it is created: <a href="${base}/keys">create another key</a>.</p>`
    : html`<p>Copy this key of the sandbox now: it is not shown again. Anyone who has it can change everything in this environment.</p>
${secretBox("key", "the key", key)}`

const startPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, base, member, once, origin, place, request, show } = visit
  // Before the users are read: the stream has everything that happens in between.
  const after = yield* positionNow(visit)
  const { total = 0 } = yield* ask("users.list", { query: { limit: "1" } })
  const key = once.take(request.query.get("created"), member.session.id)
  const text = key ?? keyVariable
  const next = html`<ul>
<li><a href="${base}/rules">Create rules that give xp</a></li>
<li><a href="${base}/live">Watch messages live</a></li>
<li><a href="${base}/keys">API keys</a></li></ul>`
  return show(
    "Get started",
    html`<p>Project <strong>${place.project.name}</strong> is ready. ${
      place.environment === "sandbox"
        ? "This is its sandbox, for trying out: production shares nothing with it."
        : "This is its production: try out in its sandbox first, which shares nothing with it."
    }</p>
<h2>1. Copy your key</h2>
${keyPart(base, key)}
<h2>2. Create a rule</h2>
<p>A rule gives users xp for an action.</p>
${commandBox({ id: "rule", label: "Create a rule with curl", text: curl(origin, text, ruleRequest) })}
<h2>3. Send an event</h2>
<p>An event tells Laurel what a user did. Run any one of these commands.</p>
${commandsOf(origin, text, eventRequest).map(commandBox)}
<h2>4. See what it earned</h2>
${
  total > 0
    ? html`<p>Events have arrived from ${total === 1 ? "1 user" : `${total} users`}.</p>${next}`
    : liveSection(
        visit,
        "first",
        after,
        html`<div data-first><p>No event yet.</p></div>
<noscript><p>Reload this page after you have sent an event.</p></noscript>
<div data-next hidden>${next}</div>`,
      )
}`,
  )
})

/** The first address of the first owner: the page of the first project, with a new sandbox key. */
export const startOf = (
  { audit, directory, keys, once, people, prefix, request }: Visit,
  { account, session }: SignedIn,
): Effect.Effect<string> =>
  Effect.gen(function* () {
    const project = projectNamed(directory, firstProjectName)
    const member = yield* people.find(session)
    if (project === undefined || member === undefined) return prefix
    const wish = {
      project: project.name,
      environment: "sandbox",
      scope: "full",
      name: "Get started",
    } as const
    const { address, requestId } = request
    const { key } = yield* logged(
      audit,
      keys.create(wish, { sessionId: member.session.id }),
      (made) => ({
        action: "key.create",
        by: { id: account.id, email: account.email },
        subject: made.id,
        detail: scopeOf(made),
        projectId: project.id,
        environment: made.environment,
      }),
    ).pipe(Effect.provideService(RequestOrigin, { address, requestId }))
    return `${prefix}/${project.name}/sandbox/start?created=${once.keep(key, member.session.id)}`
  }).pipe(
    // The account exists, and pages tell how to create a key.
    Effect.catch(() => Effect.succeed(prefix)),
  )

export const startRoutes: ReadonlyArray<Route> = [placePage("/start", startPage)]
