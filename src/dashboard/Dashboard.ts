/**
 * The dashboard: HTML made on the server, forms that need no script. A request passes these checks:
 * host name → own form → body → assets → session → route → role → page. Pages are bounded and
 * change state only by a POST from a form of the dashboard. In memory are only kept pages and
 * forms, forms that were just sent, and secrets that are shown once (`request/`); a restart may
 * lose all of these.
 */
import { Effect } from "effect"
import type { Caller } from "../accounts/Accounts.ts"
import type { ApiKeys } from "../accounts/ApiKeys.ts"
import { type AuditLog, otherActions } from "../accounts/audit/AuditLog.ts"
import type { Projects } from "../accounts/Projects.ts"
import type { Member, People } from "../accounts/people/People.ts"
import { includesRole, type Role, roleIn } from "../domain/accounts/Account.ts"
import {
  type DirectoryState,
  environmentId,
  environmentNames,
  limitOf,
  projectNamed,
} from "../domain/project/Directory.ts"
import { errorKinds, type LaurelError, laurelError } from "../domain/values/Errors.ts"
import type { Engine } from "../engine/Engine.ts"
import { loggedOperations } from "../http/contract/AuditedOperations.ts"
import type { Operations } from "../http/contract/Operations.ts"
import type { MakePages, PageRequest, Pages } from "../http/pages/Pages.ts"
import type { StreamedReply } from "../http/stream/StreamedReply.ts"
import { limits } from "../Limits.ts"
import { accountRoutes } from "./pages/account.ts"
import { actionRoutes } from "./pages/actions.ts"
import { activityRoutes } from "./pages/activity.ts"
import { copyRoutes } from "./pages/copy.ts"
import { badgeRoutes } from "./pages/definitions/badges.ts"
import { boardRoutes } from "./pages/definitions/boards.ts"
import { boostRoutes } from "./pages/definitions/boosts.ts"
import { currencyRoutes } from "./pages/definitions/currencies.ts"
import { experimentRoutes } from "./pages/definitions/experiments.ts"
import { goalRoutes } from "./pages/definitions/goals.ts"
import { itemRoutes } from "./pages/definitions/items.ts"
import { leagueRoutes } from "./pages/definitions/leagues.ts"
import { metricRoutes } from "./pages/definitions/metrics.ts"
import { questRoutes } from "./pages/definitions/quests.ts"
import { ruleRoutes } from "./pages/definitions/rules.ts"
import { segmentRoutes } from "./pages/definitions/segments.ts"
import { sourceRoutes } from "./pages/definitions/sources.ts"
import { streakRoutes } from "./pages/definitions/streaks.ts"
import { entranceRoutes, signInForm } from "./pages/entrance.ts"
import { keyRoutes } from "./pages/keys.ts"
import { leaderboardRoutes } from "./pages/leaderboard.ts"
import { liveRoutes } from "./pages/live.ts"
import { logRoutes } from "./pages/log.ts"
import { mechanicRoutes } from "./pages/mechanics/routes.ts"
import { operationRoutes } from "./pages/operations.ts"
import { overviewRoutes } from "./pages/overview.ts"
import { isByPasskey, passkeyRoutes } from "./pages/passkeys.ts"
import { projectRoutes } from "./pages/projects.ts"
import { recapRoutes } from "./pages/recap.ts"
import { reminderRoutes } from "./pages/reminders.ts"
import { retentionRoutes } from "./pages/retention.ts"
import { settingsRoutes } from "./pages/settings/settings.ts"
import { startRoutes } from "./pages/start.ts"
import { teamAccountRoutes, teamRoutes } from "./pages/team/team.ts"
import { userTeamRoutes } from "./pages/teams/team.ts"
import { testClockRoutes } from "./pages/testClock.ts"
import { carriedForm, unsentRoutes } from "./pages/unsent.ts"
import { userRoutes } from "./pages/users/routes.ts"
import { webhookRoutes } from "./pages/webhooks/routes.ts"
import { audited } from "./request/audited.ts"
import { Kept } from "./request/Kept.ts"
import { Once } from "./request/Once.ts"
import { PageShares } from "./request/PageShares.ts"
import {
  environmentPath,
  findRoute,
  type MemberVisit,
  type PlaceVisit,
  pageAbove,
  type Route,
  type Services,
  type Visit,
} from "./request/Route.ts"
import { SentForms } from "./request/SentForms.ts"
import type { ServerState } from "./request/ServerState.ts"
import { Site, type SiteOptions } from "./request/Site.ts"
import { Assets, dashboardPrefix } from "./view/Assets.ts"
import { emptyForm, Form } from "./view/Forms.ts"
import { html } from "./view/Html.ts"
import { withQuery } from "./view/Lists.ts"
import { type Frame, type Place, page, placePath } from "./view/Page.ts"
import {
  about,
  isPage,
  pageReply,
  type Reply,
  redirect,
  refusedReply,
  secured,
  withCookies,
  withRetryAfter,
} from "./view/Replies.ts"

export const routes: ReadonlyArray<Route> = [
  ...entranceRoutes,
  ...accountRoutes,
  ...passkeyRoutes,
  ...teamRoutes,
  ...teamAccountRoutes,
  ...keyRoutes,
  ...ruleRoutes,
  ...questRoutes,
  ...badgeRoutes,
  ...boostRoutes,
  ...boardRoutes,
  ...experimentRoutes,
  ...itemRoutes,
  ...goalRoutes,
  ...sourceRoutes,
  ...leagueRoutes,
  ...currencyRoutes,
  ...segmentRoutes,
  ...metricRoutes,
  ...streakRoutes,
  ...settingsRoutes,
  ...testClockRoutes,
  ...copyRoutes,
  ...logRoutes,
  ...projectRoutes,
  ...overviewRoutes,
  ...activityRoutes,
  ...retentionRoutes,
  ...reminderRoutes,
  ...recapRoutes,
  ...mechanicRoutes,
  ...actionRoutes,
  ...liveRoutes,
  ...startRoutes,
  ...webhookRoutes,
  ...userRoutes,
  ...userTeamRoutes,
  ...leaderboardRoutes,
  ...operationRoutes,
  ...unsentRoutes,
]

export interface DashboardParts extends SiteOptions {
  readonly engine: Engine["Service"]
  readonly people: People["Service"]
  readonly keys: ApiKeys["Service"]
  readonly audit: AuditLog
  readonly projects: Projects["Service"]
  readonly server: ServerState
}

const notFound = laurelError(
  "not_found",
  "No page has this address, or you have no access to it. Choose a page from the dashboard.",
)
/** In seconds. */
const day = 86_400

/** The pages of an environment that a role may see, by path relative to the environment's path. */
const placePagesFor = (role: Role): ReadonlySet<string> =>
  new Set(
    routes.flatMap((route) =>
      route.method === "GET" && route.access === "project" && includesRole(role, route.role)
        ? [route.path.slice(environmentPath.length)]
        : [],
    ),
  )
const placePages: Readonly<Record<Role, ReadonlySet<string>>> = {
  owner: placePagesFor("owner"),
  admin: placePagesFor("admin"),
  viewer: placePagesFor("viewer"),
}

/** The actions that the filter of the audit log offers. */
const actions: ReadonlyArray<string> = [
  ...new Set(routes.flatMap((route) => (route.method === "POST" ? [route.action] : []))),
  ...Object.values(loggedOperations).map(({ action }) => action),
  ...otherActions,
]
  .filter((action) => action !== "none")
  .sort()

export const makeDashboard = (parts: DashboardParts): MakePages => ({
  prefix: dashboardPrefix,
  audit: parts.audit,
  make: (operations) => new DashboardPages(parts, operations),
})

type Answer = Effect.Effect<Reply | StreamedReply, LaurelError>

const prefix = dashboardPrefix

class DashboardPages implements Pages {
  readonly prefix = prefix
  readonly #parts: DashboardParts
  readonly #operations: Operations
  readonly #site: Site
  readonly #assets = new Assets(prefix)
  readonly #kept: Kept
  readonly #sentForms: SentForms
  readonly #shares = new PageShares()
  readonly #services: Services

  constructor(parts: DashboardParts, operations: Operations) {
    const { audit, engine, keys, people, projects, server } = parts
    const { now } = engine
    this.#parts = parts
    this.#operations = operations
    this.#site = new Site(parts)
    this.#kept = new Kept(now)
    this.#sentForms = new SentForms(now)
    this.#services = {
      prefix,
      people,
      keys,
      projects,
      audit,
      actions,
      reads: engine,
      server,
      now,
      once: new Once(now),
      kept: this.#kept,
    }
  }

  readonly refusalOf: Pages["refusalOf"] = (head) => {
    if (!this.#site.isKnownName(head)) return unknownName
    return head.method === "POST" && !this.#site.isOwnForm(head) ? foreignForm : undefined
  }

  readonly answer: Pages["answer"] = (request) =>
    Effect.catch(this.#answer(request), (error) =>
      Effect.succeed(errorPage(error, this.#frameAlone(request.path))),
    )

  readonly refused: Pages["refused"] = (error) => errorPage(error, this.#frameAlone(""))

  /** The frame of a page for somebody who is not signed in. */
  #frameAlone(path: string): Frame {
    return { prefix, assets: this.#assets, placePages: placePages.viewer, path }
  }

  #answer(request: PageRequest): Answer {
    return Effect.gen({ self: this }, function* () {
      const isGet = request.method === "GET"
      const asset = isGet ? this.#assets.find(request.path) : undefined
      if (asset !== undefined) return asset
      const better = this.#site.underLocalhost(request)
      if (better !== undefined) return redirect(better)
      // People add a slash, and some proxies do.
      if (isGet && request.path.endsWith("/")) {
        const search = request.query.size > 0 ? `?${request.query}` : ""
        return redirect(request.path.slice(0, -1) + search)
      }
      const cookie = this.#site.cookie(request, "session")
      const member = cookie === undefined ? undefined : yield* this.#parts.people.find(cookie)
      const again = isGet ? request.query.get("kept") : null
      const shown = member && this.#kept.page(again, member.session.id)
      return shown ?? (yield* this.#answerByRoute(request, member))
    })
  }

  #answerByRoute(request: PageRequest, member: Member | undefined): Answer {
    return Effect.gen({ self: this }, function* () {
      const asked = request.path.slice(prefix.length).split("/").slice(1)
      const above = request.method === "GET" ? pageAbove(routes, asked) : undefined
      if (above !== undefined) return redirect(`${prefix}${above}`)
      const found = findRoute(routes, request.method, asked)
      if (found === undefined) return yield* Effect.fail(notFound)
      const { params, route } = found
      const directory = yield* this.#parts.engine.readDirectory
      const place = member && placeOf(directory, params, member)
      const frame: Frame = {
        ...this.#frameAlone(request.path),
        advancedTo: place && this.#advancedTo(place),
        account: member?.account,
        place,
        placePages: placePages[(place && roleIn(member.account, place.project.id)) ?? "viewer"],
      }
      const visit: Visit = { ...this.#visitOf(request, frame), params, directory }
      const reply = yield* Effect.catch(this.#dispatch(route, visit, member, place), (error) =>
        Effect.succeed(
          error.code === "confirmation_required"
            ? redirect(this.#confirmAddress(route, visit, member))
            : errorPage(error, frame),
        ),
      )
      return yield* this.#finish(request, member, reply)
    })
  }

  /** The time of an environment, if its test clock is ahead of the server's. */
  #advancedTo({ environment, project }: Place): number | undefined {
    const { now, timeIn } = this.#parts.engine
    const time = timeIn(environmentId(project.id, environment))
    return time > now() ? time : undefined
  }

  #visitOf(request: PageRequest, frame: Frame): Omit<Visit, "directory" | "params"> {
    const site = this.#site
    return {
      ...this.#services,
      request,
      origin: site.originOf(request),
      relyingParty: site.relyingParty(request),
      browser: site.cookie(request, "browser"),
      asset: (name) => this.#assets.address(name),
      form: request.method === "POST" ? new Form(request.body.toString("utf8")) : emptyForm,
      visitor: {
        agent: String(request.headers["user-agent"] ?? ""),
        address: request.address,
        device: site.cookie(request, "device"),
      },
      show: (title, main, outcome = 200) =>
        typeof outcome === "number"
          ? pageReply(outcome, page(frame, title, main))
          : refusedReply(outcome, page(frame, title, main)),
      signedIn: (reply, { account, device, session }) =>
        withCookies(about(reply, { account }), [
          site.setCookie("session", session, limits.sessionMs / 1_000),
          site.setCookie("device", device, 400 * day),
        ]),
      inBrowser: (reply, browser) =>
        withCookies(reply, [site.setCookie("browser", browser, limits.passkeyChallengeMs / 1_000)]),
      signedOut: (reply) => withCookies(reply, [site.setCookie("session", "", 0)]),
    }
  }

  /**
   * Answers the request that a reply resumes; keeps a page that answers a form, and redirects to
   * that page.
   */
  #finish(request: PageRequest, member: Member | undefined, reply: Reply | StreamedReply): Answer {
    if ("stream" in reply) return Effect.succeed(secured(reply))
    if (reply.resume !== undefined) {
      return this.#answer({ ...request, query: new URLSearchParams(), ...reply.resume })
    }
    if (member === undefined || !isFormOfBrowser(request) || !isPage(reply)) {
      return Effect.succeed(reply)
    }
    // The rest of the query stays: a form of the page may be sent to the same address.
    const name = this.#kept.keepPage(reply, member.session.id)
    return Effect.succeed(redirect(withQuery(request.path, request.query, { kept: name })))
  }

  /** The page that asks for the password, and then sends the form that needs the confirmation. */
  #confirmAddress(route: Route, visit: Visit, member: Member | undefined): string {
    const { request } = visit
    const address = `${prefix}/confirm?next=${encodeURIComponent(cameFrom(request))}`
    if (member === undefined || route.method === "GET" || !isFormOfBrowser(request)) return address
    // The answer of a passkey is good for one try.
    if (isByPasskey(visit)) return address
    const { body, path } = request
    const form = this.#kept.keepForm({ path, body, action: route.action }, member.session.id)
    return `${address}&form=${form}`
  }

  /** Answers where the visitor may ask for the route. */
  #dispatch(
    route: Route,
    visit: Visit,
    member: Member | undefined,
    place: Place | undefined,
  ): Answer {
    const { audit } = this.#parts
    if (route.access === "anyone") return audited(audit, route, visit, () => route.answer(visit))
    if (member === undefined) return Effect.succeed(signInFirst(route, visit))
    const memberVisit: MemberVisit = { ...visit, member }
    if (route.access !== "project") {
      const allowed = route.access === "member" || member.account.access.owner
      if (!allowed) return Effect.fail(notFound)
      const answered = audited(audit, route, memberVisit, () => route.answer(memberVisit))
      const placed =
        route.access === "owner"
          ? this.#shares.hold(member.account.id, undefined, answered)
          : answered
      return this.#sentForms.once(memberVisit, placed)
    }
    const role = place && roleIn(member.account, place.project.id)
    if (place === undefined || role === undefined) return Effect.fail(notFound)
    if (!includesRole(role, route.role)) return Effect.fail(roleTooLow)
    const caller = callerOf(member, place, role)
    const other = place.environment === "sandbox" ? "production" : "sandbox"
    const beside = callerOf(member, { ...place, environment: other }, role)
    const placeVisit = this.#placeVisitOf(memberVisit, place, caller, beside)
    const answered = audited(audit, route, placeVisit, () => route.answer(placeVisit))
    const placed = this.#shares.hold(member.account.id, caller.environment, answered)
    return this.#sentForms.once(placeVisit, placed)
  }

  #placeVisitOf(visit: MemberVisit, place: Place, caller: Caller, beside: Caller): PlaceVisit {
    const operations = this.#operations
    return {
      ...visit,
      place,
      base: placePath(prefix, place),
      time: () => this.#parts.engine.timeIn(caller.environment),
      ask: (name, callParts) => operations.ask(caller, name, callParts),
      askBeside: (name, callParts) => operations.ask(beside, name, callParts),
      reply: (name, callParts) => operations.reply(caller, name, callParts),
      open: (name, callParts) => operations.open(caller, name, callParts),
    }
  }
}

const errorPage = (error: LaurelError, frame: Frame): Reply => {
  const { status, title } = errorKinds[error.code]
  const main = html`<p>${error.detail}</p><p><a href="${prefix}">To the dashboard</a></p>`
  return withRetryAfter(pageReply(status, page(frame, title, main)), error)
}

/** The sign-in, which carries a form that a browser sent. */
const signInFirst = (route: Route, visit: Visit): Reply => {
  const { request } = visit
  const next = encodeURIComponent(cameFrom(request))
  const form =
    route.method === "POST" && isFormOfBrowser(request)
      ? carriedForm({ path: request.path, body: request.body, action: route.action })
      : undefined
  return form === undefined
    ? redirect(`${prefix}/sign-in?next=${next}`)
    : signInForm(visit, { next, form })
}

/** The caller of operations: an account in one of its environments. It has no rate limit. */
const callerOf = ({ account }: Member, { environment, project }: Place, role: Role): Caller => ({
  kind: "account",
  keyId: account.id,
  accountId: account.id,
  projectId: project.id,
  environmentName: environment,
  environment: environmentId(project.id, environment),
  scope: includesRole(role, "admin") ? "full" : "read",
  tier: limitOf(project).tier,
})

/**
 * Whether a browser sent a form that navigates, or a script that shows the reply as the page
 * (`browser/drafts.ts`), and not one that reads the reply.
 */
const isFormOfBrowser = ({ headers, method }: PageRequest): boolean =>
  method === "POST" &&
  (headers["sec-fetch-mode"] === "navigate" || headers["laurel-shows"] === "page")

/** The page to return to: the requested page, or the page that holds the form. */
const cameFrom = ({ headers, method, path }: PageRequest): string => {
  if (method === "GET") return path
  return URL.parse(String(headers.referer ?? ""))?.pathname ?? dashboardPrefix
}

/** The environment in the address, if the account has access to its project. */
const placeOf = (
  directory: DirectoryState,
  { environment, project }: Readonly<Record<string, string>>,
  { account }: Member,
): Place | undefined => {
  const name = environmentNames.find((one) => one === environment)
  const found = project === undefined ? undefined : projectNamed(directory, project)
  if (name === undefined || found === undefined || found.archivedAt !== undefined) return undefined
  return roleIn(account, found.id) === undefined ? undefined : { project: found, environment: name }
}

const unknownName = laurelError(
  "misdirected_request",
  "The dashboard is not served under this name. Set LAUREL_PUBLIC_URL to the address that people use.",
)
const foreignForm = laurelError(
  "insufficient_role",
  "The form does not come from the dashboard. Send it from a page of the dashboard.",
)
const roleTooLow = laurelError("insufficient_role", "Your role in this project may only read.")
