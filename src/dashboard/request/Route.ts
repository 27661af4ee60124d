/** A page: its path, the roles that may ask for it, its handler. */
import { Effect } from "effect"
import type { ApiKeys } from "../../accounts/ApiKeys.ts"
import type { AuditAction, AuditLog } from "../../accounts/audit/AuditLog.ts"
import type { Projects } from "../../accounts/Projects.ts"
import type { Member, People, SignedIn, Visitor } from "../../accounts/people/People.ts"
import type { Asker } from "../../domain/accounts/Account.ts"
import { includesRole, isConfirmed, type Role, roleIn } from "../../domain/accounts/Account.ts"
import type { DirectoryState } from "../../domain/project/Directory.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { BodyOf, CallParts, OperationName, ReplyOf } from "../../http/contract/Operations.ts"
import type { PageRequest } from "../../http/pages/Pages.ts"
import type { StreamedReply } from "../../http/stream/StreamedReply.ts"
import type { Form } from "../view/Forms.ts"
import type { Content } from "../view/Html.ts"
import type { Place, Title } from "../view/Page.ts"
import type { Reply } from "../view/Replies.ts"
import type { Kept } from "./Kept.ts"
import type { Once } from "./Once.ts"
import type { ServerState } from "./ServerState.ts"
import type { RelyingParty } from "./Site.ts"

/** The services of pages. */
export interface Services {
  readonly prefix: string
  readonly people: People["Service"]
  readonly keys: ApiKeys["Service"]
  readonly audit: AuditLog
  /** The actions that the audit log may have, by name. */
  readonly actions: ReadonlyArray<string>
  readonly projects: Projects["Service"]
  readonly reads: Pick<
    Engine["Service"],
    "feed" | "readActivity" | "readCounts" | "readCountsAtLeast" | "readDirectory" | "readProject"
  >
  readonly server: ServerState
  readonly once: Once
  readonly kept: Kept
  readonly now: () => number
}

/**
 * A request for a page, from a known browser. `params` are the parts of the path that its route
 * names.
 */
export interface Visit extends Services {
  readonly request: PageRequest
  readonly params: Readonly<Record<string, string>>
  readonly form: Form
  readonly visitor: Visitor
  /** The server's address in the visitor's browser, such as `https://laurel.example.com`. */
  readonly origin: string
  /** The relying party of passkeys, or the reason why browsers refuse passkeys at this address. */
  readonly relyingParty: RelyingParty | string
  /** The cookie that binds passkeys to a browser in which nobody has signed in. */
  readonly browser: string | undefined
  readonly directory: DirectoryState
  /** The address of a file of `browser/`. */
  readonly asset: (name: string) => string
  /**
   * A page with this title and content, in the frame of the account. `outcome` is its status, or
   * the error that refused a form.
   */
  readonly show: (title: Title, main: Content, outcome?: number | LaurelError | undefined) => Reply
  /** Sets the cookies of a new session. The audit log names the account. */
  readonly signedIn: (reply: Reply, signedIn: SignedIn) => Reply
  readonly signedOut: (reply: Reply) => Reply
  /** Sets the cookie `browser`. */
  readonly inBrowser: (reply: Reply, browser: string) => Reply
}

export interface MemberVisit extends Visit {
  readonly member: Member
}

/**
 * A request for a page of an environment. `ask`, `reply` and `open` call operations of the contract
 * in that environment, with the scope of the role.
 */
export interface PlaceVisit extends MemberVisit {
  readonly place: Place
  /** The path of the environment's pages, such as `/dashboard/shop/production`. */
  readonly base: string
  /** The environment's time, epoch milliseconds; `now` is the server's. */
  readonly time: () => number
  readonly ask: <Name extends OperationName>(
    name: Name,
    parts?: CallParts<Name>,
  ) => Effect.Effect<BodyOf<Name>, LaurelError>
  /** `ask` in the other environment of the project. */
  readonly askBeside: PlaceVisit["ask"]
  readonly reply: <Name extends OperationName>(
    name: Name,
    parts?: CallParts<Name>,
  ) => Effect.Effect<ReplyOf<Name>, LaurelError>
  readonly open: <Name extends OperationName>(
    name: Name,
    parts?: CallParts<Name>,
  ) => Effect.Effect<StreamedReply, LaurelError>
}

/**
 * The answer of a form, or the page with the reason of a refusal. A missing confirmation still
 * fails: the dashboard then asks for it.
 */
export const orPage = (
  answer: Effect.Effect<Reply, LaurelError>,
  page: (error: LaurelError) => Effect.Effect<Reply, LaurelError>,
): Effect.Effect<Reply, LaurelError> =>
  Effect.catch(answer, (error) =>
    error.code === "confirmation_required" ? Effect.fail(error) : page(error),
  )

/** The member's session, as author of a change of accounts, projects or keys. */
export const asker = ({ member }: MemberVisit): Asker => ({ sessionId: member.session.id })

/** Whether the account may change things in the project. */
export const mayChange = ({ member, place }: PlaceVisit): boolean =>
  includesRole(roleIn(member.account, place.project.id), "admin")

/**
 * Fails unless the session was confirmed lately. Required before a secret is shown and before a
 * change that cannot be undone.
 */
export const confirmed = ({ member, now }: MemberVisit): Effect.Effect<void, LaurelError> =>
  isConfirmed(member.session, now()) ? Effect.void : Effect.fail(confirmFirst)

/** `confirmed` in production; always succeeds in a sandbox. */
export const confirmedInProduction = (visit: PlaceVisit): Effect.Effect<void, LaurelError> =>
  visit.place.environment === "production" ? confirmed(visit) : Effect.void

const confirmFirst = laurelError("confirmation_required", "Confirm with your password first.")

type Answer = Effect.Effect<Reply | StreamedReply, LaurelError>

/**
 * `path` follows the prefix; `:name` stands for one part. A route with access `project` belongs to
 * an environment and needs at least `role` in its project; without any role the project is not
 * found. Access `owner` needs an owner of the server.
 *
 * A form names its `action`. When the form succeeds, the audit log gets an entry. Its subject is
 * the id in the path, or the `about` of the answer. The action `none` is for forms that change
 * nothing, such as a preview.
 */
export type Route = (
  | { readonly method: "GET" }
  | { readonly method: "POST"; readonly action: AuditAction | "none" }
) & { readonly path: string } & (
    | { readonly access: "anyone"; readonly answer: (visit: Visit) => Answer }
    | { readonly access: "member" | "owner"; readonly answer: (visit: MemberVisit) => Answer }
    | {
        readonly access: "project"
        readonly role: Exclude<Role, "owner">
        readonly answer: (visit: PlaceVisit) => Answer
      }
  )

export const environmentPath = "/:project/:environment"

/**
 * A page of an environment, at `path` below the path of the environment. Viewers may see it unless
 * `role` is `admin`.
 */
export const placePage = (
  path: string,
  answer: (visit: PlaceVisit) => Answer,
  role: Exclude<Role, "owner"> = "viewer",
): Route => ({ method: "GET", path: `${environmentPath}${path}`, access: "project", role, answer })

/** A form of an environment, for its admins. */
export const placeForm = (
  path: string,
  action: AuditAction | "none",
  answer: (visit: PlaceVisit) => Answer,
): Route => ({
  method: "POST",
  action,
  path: `${environmentPath}${path}`,
  access: "project",
  role: "admin",
  answer,
})

/**
 * A form of an account or of the server. `change` answers; `refused` shows the reason of a refusal.
 */
export const memberForm = (
  access: "member" | "owner",
  path: string,
  action: AuditAction,
  change: (visit: MemberVisit) => Effect.Effect<Reply, LaurelError>,
  refused: (visit: MemberVisit, error: LaurelError) => Effect.Effect<Reply, LaurelError>,
): Route => ({
  method: "POST",
  action,
  path,
  access,
  answer: (visit) => orPage(change(visit), (error) => refused(visit, error)),
})

/**
 * The first route of `method` that matches the parts of a path, with the values of its named parts.
 */
export const findRoute = (
  routes: ReadonlyArray<Route>,
  method: Route["method"],
  asked: ReadonlyArray<string>,
): { readonly route: Route; readonly params: Record<string, string> } | undefined => {
  for (const route of routes) {
    const params = route.method === method ? matchRoute(route, asked) : undefined
    if (params !== undefined) return { route, params }
  }
  return undefined
}

const fixedParts = ({ path }: Route): number =>
  path.split("/").filter((part) => !part.startsWith(":")).length

/**
 * The path of the nearest page above the address of a form, if the form's address has no page.
 * Browsers ask for the address of a form after a reload, or after somebody copied it.
 */
export const pageAbove = (
  routes: ReadonlyArray<Route>,
  asked: ReadonlyArray<string>,
): string | undefined => {
  const form = findRoute(routes, "POST", asked)?.route
  const own = findRoute(routes, "GET", asked)?.route
  if (form === undefined) return undefined
  // A page with fewer fixed parts is not the page of the form: `/team/:account` matches
  // `/team/invite`, too.
  if (own !== undefined && fixedParts(own) >= fixedParts(form)) return undefined
  const parts = form.path.split("/")
  for (let count = parts.length - 1; count > 0; count--) {
    const above = parts.slice(0, count).join("/")
    if (routes.some(({ method, path }) => method === "GET" && path === above)) {
      return asked
        .slice(0, count - 1)
        .map((part) => `/${part}`)
        .join("")
    }
  }
  return undefined
}

/** The values of a route's named parts; `undefined` if the path does not match. */
const matchRoute = (
  { path }: Pick<Route, "path">,
  asked: ReadonlyArray<string>,
): Record<string, string> | undefined => {
  const parts = path.split("/").slice(1)
  if (parts.length !== asked.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of parts.entries()) {
    if (part.startsWith(":")) params[part.slice(1)] = asked[index]!
    else if (part !== asked[index]) return undefined
  }
  return params
}
