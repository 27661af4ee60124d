/** Functions that several groups of handlers share: pages, patches, and users in replies. */
import { Effect } from "effect"
import { type Caller, isClient } from "../../accounts/Accounts.ts"
import type { Conditional, IfMatch } from "../../domain/decide/Decided.ts"
import { definitionNotFound } from "../../domain/decide/Kind.ts"
import type { SettingsChange } from "../../domain/decide/Settings.ts"
import { furtherOf } from "../../domain/message/Further.ts"
import type { SpendReply } from "../../domain/message/SpendReply.ts"
import type { RewardReply } from "../../domain/message/UserReply.ts"
import { ownBoostsAt } from "../../domain/project/Boost.ts"
import { type Amounts, hasLevels } from "../../domain/project/Currency.ts"
import {
  type Definition,
  type Gives,
  type Lifecycle,
  type Reward,
  type RewardChange,
  type Status,
  statusAt,
  type Targeted,
} from "../../domain/project/Definition.ts"
import { levelAt, levelProgress } from "../../domain/project/Level.ts"
import type { ProjectState, Reminders } from "../../domain/project/Project.ts"
import type { Fact, FactOf, JournalRecord } from "../../domain/record/Record.ts"
import { standingOf } from "../../domain/user/CurrencyLevel.ts"
import { endingsOf } from "../../domain/user/Expiry.ts"
import { attributeText } from "../../domain/user/Group.ts"
import { pendingAt, pendingLotsAt } from "../../domain/user/Lots.ts"
import { Membership } from "../../domain/user/Membership.ts"
import {
  badgeProgress,
  badgesOf,
  type QuestProgress as ProgressInQuest,
  questProgress,
  streakProgress,
} from "../../domain/user/Progress.ts"
import { balanceAt, refillTimes } from "../../domain/user/Refill.ts"
import { teamsOfUser } from "../../domain/user/TeamMembership.ts"
import type { UserState } from "../../domain/user/User.ts"
import { canonicalTimeZone } from "../../domain/values/Calendar.ts"
import {
  type ErrorCode,
  invalidRequest,
  type LaurelError,
  laurelError,
} from "../../domain/values/Errors.ts"
import { isoTime, isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { Metadata } from "../../domain/values/Metadata.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import { avatarAttribute } from "../api/Attributes.ts"
import { cursorOf, type Filters, type ListName, type Position, positionIn } from "../api/Cursor.ts"
import type { RewardPatch } from "../api/DefinitionShapes.ts"
import type { ProjectPatch } from "../api/Projects.ts"
import type { NewReminders } from "../api/Reminders.ts"
import type { Progress, QuestProgress, User } from "../api/UserShapes.ts"

/** Shows `earnedAt` of badges or tiers as ISO 8601. */
export const showBadges = <Badge extends { readonly earnedAt: number }>(
  badges: ReadonlyArray<Badge>,
): ReadonlyArray<Omit<Badge, "earnedAt"> & { readonly earnedAt: string }> =>
  badges.map((badge) => ({ ...badge, earnedAt: isoTime(badge.earnedAt) }))

/** The reward of a definition, from a request. */
export const allParts = (reward: Reward): Gives => ({ xp: 0, points: 0, badgeId: null, ...reward })

/** The change of a definition's reward; null removes a part. */
export const partsChange = ({
  currencies,
  freezes,
  points,
  xp,
  ...rest
}: typeof RewardPatch.Type): RewardChange =>
  named({
    ...rest,
    xp: xp === null ? 0 : xp,
    points: points === null ? 0 : points,
    currencyPatch: currencies,
    freezePatch: freezes,
  })

/** The change of a definition's reward to `reward`: all of its parts. */
export const wholeReward = (reward: Gives): RewardChange => ({
  ...reward,
  currencies: reward.currencies,
  freezes: reward.freezes,
  boost: reward.boost,
})

/** The members of a reply that tell a repeat of an id from its first use. */
export const showRepeat = ({
  differs,
  duplicate,
  revoked,
}: Pick<RewardReply, "differs" | "duplicate" | "revoked">) => ({
  duplicate,
  ...(differs.length > 0 && { differs }),
  ...(revoked && { revoked }),
})

/**
 * Epoch milliseconds of a time that a schema has accepted. Null and `undefined` stay as they are.
 */
export const timeOf = <Nothing extends null | undefined>(
  text: string | Nothing,
): number | Nothing => (typeof text === "string" ? Date.parse(text) : text)

/** `members` without the undefined ones: a patch changes only the members that it names. */
export const named = <A extends object>(members: A): Named<A> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Named<A>

type Named<A> = { readonly [Name in keyof A]?: Exclude<A[Name], undefined> }

/* Pages of lists. */

export interface PageQuery {
  readonly limit?: number
  readonly cursor?: string
}

/** A page that a request asks for: at most `limit` items behind the position `after`. */
export interface PageAsked<List extends ListName> {
  readonly limit: number
  readonly after: Position<List> | undefined
  /** The members that describe the page. `last`: its last item, if more items follow. */
  readonly end: (last: Position<List> | undefined) => {
    readonly hasMore: boolean
    readonly nextCursor: string | null
  }
}

/**
 * The page that `query` asks for. `filters` are the parameters that choose the items of the list.
 * Fails for a cursor of other filters or of another environment.
 */
export const pageAsked = <List extends ListName>(
  list: List,
  environment: string,
  filters: Filters,
  { cursor, limit = limits.pageDefault }: PageQuery,
): Effect.Effect<PageAsked<List>, LaurelError<"invalid_request">> => {
  const after = cursor === undefined ? undefined : positionIn(list, environment, filters, cursor)
  if (cursor !== undefined && after === undefined) return Effect.fail(otherFilters)
  const end: PageAsked<List>["end"] = (last) => ({
    hasMore: last !== undefined,
    nextCursor: last === undefined ? null : cursorOf(list, environment, filters, last),
  })
  return Effect.succeed({ limit, after, end })
}

const otherFilters = invalidRequest([
  {
    pointer: "query/cursor",
    code: "invalid_value",
    detail:
      "is the cursor of a list with other filters or of another environment: begin again with the first page",
  },
])

/** The reply of a read that shows `version`, or says that the caller has it. */
export const shownVersion = <Body>(
  body: Body,
  version: number,
  { "if-none-match": known }: { readonly "if-none-match"?: IfMatch },
) => ({ body, version, notModified: known === "*" || known?.includes(version) === true })

/** Fails with `notFound` if `thing` is undefined. */
export const foundOr = <A, Code extends ErrorCode>(
  thing: A | undefined,
  notFound: LaurelError<Code>,
): Effect.Effect<A, LaurelError<Code>> =>
  thing === undefined ? Effect.fail(notFound) : Effect.succeed(thing)

/** A command that changes only the versions in `If-Match`. */
export const onlyIf = <Command extends object>(
  { "if-match": ifMatch }: { readonly "if-match"?: IfMatch },
  command: Command,
): Command & Conditional => (ifMatch === undefined ? command : { ...command, ifMatch })
/* The members that definitions of every kind have. */

/** The members of a new definition. */
export const newMembers = ({
  description,
  endsAt,
  key,
  metadata = {},
  segment,
  startsAt,
  status = "active",
}: {
  readonly description?: string
  readonly endsAt?: string
  readonly key?: string
  readonly metadata?: Metadata
  readonly segment?: string
  readonly startsAt?: string
  readonly status?: "draft" | "active"
}) => ({
  segment: segment ?? null,
  ...(key !== undefined && { key }),
  description: description ?? null,
  metadata,
  set: status === "active" ? ("published" as const) : status,
  startsAt: timeOf(startsAt ?? null),
  endsAt: timeOf(endsAt ?? null),
})

/** A definition with its status at `now`. */
export const showDefinition = <A extends Definition>({ set, ...definition }: A, now: number) => ({
  ...definition,
  status: statusAt({ ...definition, set }, now),
  startsAt: isoTimeOrNull(definition.startsAt),
  endsAt: isoTimeOrNull(definition.endsAt),
  createdAt: isoTime(definition.createdAt),
  updatedAt: isoTime(definition.updatedAt),
})

/**
 * The change of a definition to a `made` one. Key and metadata stay, and so does the status if the
 * `payload` that `made` comes from has none.
 */
export const replacementOf = <
  A extends Pick<Definition, "id" | "metadata" | "set"> & { readonly key?: string },
>(
  { id: _, key: __, metadata: ___, set: ____, ...members }: A,
  { status }: { readonly status?: Status },
) => ({ ...members, ...(status !== undefined && { status }) })

/** The times of a patch, and its other members. */
export const patchOf = <
  A extends { readonly startsAt?: string | null; readonly endsAt?: string | null },
>(
  patch: A,
) => ({ ...patch, startsAt: timeOf(patch.startsAt), endsAt: timeOf(patch.endsAt) })

/** The fact of `kind` in the record of a command that always decides such a fact. */
export const factOf = <Kind extends Fact["kind"]>(
  record: JournalRecord,
  kind: Kind,
): FactOf<Kind> => {
  for (const fact of record.facts) {
    if (fact.kind === kind) return fact as FactOf<Kind>
  }
  throw new Error(`Record ${record.sequence} has no fact ${kind}`)
}

/** Whether a caller's requests go to production. */
export const isProduction = (caller: Caller): boolean => caller.environmentName === "production"

/* Users in replies. */

export const backfillNotFound = laurelError(
  "backfill_not_found",
  "There is no backfill, or the definition is archived.",
)

export const userNotFound = laurelError(
  "user_not_found",
  "No event, reward or profile of this user was accepted yet.",
)

export const questNotFound = definitionNotFound("quest")

export const segmentNotFound = definitionNotFound("segment")
export const badgeNotFound = definitionNotFound("badge")

const avatarMember = (text: string | undefined) => text && { avatarUrl: text }

/** The member with the picture of a user or a team, from its attributes. */
export const avatarOf = (attributes: UserState["profile"]["attributes"]) =>
  avatarMember(attributeText(attributes, avatarAttribute))

/** The member with the picture of a user whose state need not be decoded. */
export const avatarNow = (engine: Engine["Service"], environment: string, userId: string) =>
  avatarMember(engine.attributeNow(environment, userId, avatarAttribute))

/** Whether the definition has begun and is not archived: also one that is over, for its outcome. */
export const hasBegun = (definition: Lifecycle, now: number): boolean => {
  const status = statusAt(definition, now)
  return status === "active" || status === "paused" || status === "ended"
}

/** Whether the caller is an app for which the definition does not exist yet. */
export const isUnknownTo = (
  caller: Caller,
  definition: Lifecycle | undefined,
  now: number,
): boolean => {
  if (definition === undefined || !isClient(caller)) return false
  const status = statusAt(definition, now)
  return status === "draft" || status === "scheduled"
}

/**
 * Whether the caller may see a definition with this segment: a server may, a user only as a member,
 * and a page without a user not at all.
 */
export const mayKnow = (
  engine: Engine["Service"],
  { segment }: Targeted,
  caller: Caller,
  now: number,
): boolean => {
  if (segment === null || !isClient(caller)) return true
  const { environment, userId } = caller
  if (userId === undefined) return false
  const user = Effect.runSync(
    Effect.catch(engine.readUser(environment, userId), () => Effect.undefined),
  )
  const project = engine.projectNow(environment)
  return new Membership({ userId, user, project, now }).has(segment)
}

/** What a user earned by a reward or a purchase, and the balances afterwards. */
export const earnedMembers = (
  reply: Parameters<typeof furtherOf>[0] &
    Pick<RewardReply, "badges" | "balances" | "level" | "points" | "xp">,
) => {
  const { badges, balances, level, points, xp } = reply
  return {
    xp,
    points,
    ...furtherOf(reply),
    balances: balances ?? { xp: xp.total, points: points.total },
    level,
    badges: showBadges(badges),
  }
}

/** The outcome of a reward. */
export const rewardBody = (reply: RewardReply) => {
  const { amount, badgeId, reward, rewardId, type, userId } = reply
  return {
    rewardId,
    userId,
    reward,
    type,
    amount,
    badgeId,
    ...showRepeat(reply),
    ...earnedMembers(reply),
  }
}

/** The outcome of a spend. */
export const spendBody = (reply: SpendReply) => {
  const { amount, reason, repaired, spendId, total, userId } = reply
  const points = { spent: amount, total }
  const further = { ...furtherParts(reply), ...(repaired !== undefined && { repaired }) }
  return { spendId, userId, amount, reason, points, ...further }
}

/** What a spend or a refund did to further currencies. */
export const furtherParts = <Change>({
  balances,
  currencies,
}: {
  readonly balances?: Amounts
  readonly currencies?: { readonly [key: string]: Change }
}) => ({
  ...(currencies !== undefined && { currencies }),
  ...(balances !== undefined && { balances }),
})

/** The user at `now`, in epoch milliseconds. */
export const showUser = (user: UserState, project: ProjectState, now: number): typeof User.Type => {
  const { attributes, displayName, hidden, timezone } = user.profile
  return {
    id: user.id,
    displayName,
    timezone,
    attributes,
    hidden,
    xp: user.xp,
    level: levelAt(project.settings.levelCurve, user.xp),
    points: balanceAt(user, project, "points", now).amount,
    ...showBalances(user, project, now),
    badges: badgesOf(user, project).map(({ tiers, ...badge }) => ({
      ...badge,
      earnedAt: isoTime(badge.earnedAt),
      ...(tiers !== undefined && { tiers: showBadges(tiers) }),
    })),
    ...showOwnBoosts(user, project, now),
    ...showExposures(user, project),
    ...(user.teams.size > 0 && teamsMember(user, project)),
    lastEventAt: user.lastEventAt === 0 ? null : isoTime(user.lastEventAt),
    createdAt: isoTime(user.createdAt),
    updatedAt: isoTime(user.updatedAt),
  }
}

/** The teams of a user. */
export const showOwnTeams = (user: UserState, project: ProjectState) =>
  teamsOfUser(user, project).map(({ joinedAt, team: { id, kind, name } }) => ({
    id,
    kind,
    name,
    joinedAt: isoTime(joinedAt),
  }))

const teamsMember = (user: UserState, project: ProjectState) => {
  const teams = showOwnTeams(user, project)
  return teams.length > 0 ? { teams } : {}
}

/** The personal boosts that run, each from its earliest start to its latest end. */
const showOwnBoosts = ({ boosts }: UserState, project: ProjectState, now: number) => {
  if (boosts.length === 0) return {}
  const running = boosts.filter(({ endsAt, startsAt }) => now >= startsAt && now < endsAt)
  const shown = ownBoostsAt(project.boosts, running, now).map((boost) => {
    const { currencies, factor, id: boostId, key, name } = boost
    const own = running.filter((one) => one.key === key)
    const startsAt = isoTime(Math.min(...own.map((one) => one.startsAt)))
    const endsAt = isoTime(Math.max(...own.map((one) => one.endsAt)))
    return { boostId, key, name, currencies, factor, startsAt, endsAt }
  })
  return shown.length === 0 ? {} : { boosts: shown }
}

/** The experiments that the user has entered, in the order of their creation. */
const showExposures = ({ experiments: own }: UserState, { experiments }: ProjectState) => {
  if (own.size === 0) return {}
  const shown = [...experiments.values()].flatMap(({ id, key, name, set }) => {
    const exposure = set === "archived" ? undefined : own.get(id)
    if (exposure === undefined) return []
    const { at, mixed = false, variant } = exposure
    return [{ experimentId: id, key, name, variant, exposedAt: isoTime(at), counted: !mixed }]
  })
  return shown.length === 0 ? {} : { experiments: shown }
}

/** The user's balances of all active currencies, what is pending or ends, and when they grow. */
const showBalances = (user: UserState, project: ProjectState, now: number) => {
  const active = [...project.currencies.values()].filter(({ set }) => set === "published")
  const amounts = active.map(({ key }) => [key, balanceAt(user, project, key, now).amount] as const)
  const balances: Amounts = Object.fromEntries(amounts)
  const waiting = active.flatMap(({ key }) => {
    const lots = pendingLotsAt(user, key, now)
    if (lots.length === 0) return []
    const amount = pendingAt(user, key, now)
    const shown = lots.map(([at, amount]) => ({ amount, spendableAt: isoTime(at) }))
    return [[key, { amount, lots: shown }] as const]
  })
  const pending = waiting.length > 0 && { pending: Object.fromEntries(waiting) }
  const ending = active.flatMap(({ key }) => {
    const lots = endingsOf(user, project, key, now)
    if (lots.length === 0) return []
    const amount = lots.reduce((sum, lot) => sum + lot.amount, 0)
    const shown = lots.map(({ amount, expiresAt }) => ({ amount, expiresAt: isoTime(expiresAt) }))
    return [[key, { amount, lots: shown }] as const]
  })
  const ranked = active.filter(hasLevels)
  const standings = ranked.map((one) => [one.key, standingOf(user, project, one, now)] as const)
  const further = {
    ...pending,
    ...(ending.length > 0 && { expiring: Object.fromEntries(ending) }),
    ...(ranked.length > 0 && { levels: Object.fromEntries(standings) }),
  }
  const times = Object.entries(refillTimes(user, project, now) ?? {})
  if (times.length === 0) return { balances, ...further }
  const refills = times.map(([key, { amount, fullAt, nextAt }]) => [
    key,
    { amount, nextAt: isoTimeOrNull(nextAt), fullAt: isoTimeOrNull(fullAt) },
  ])
  return {
    balances,
    ...further,
    refills: Object.fromEntries(refills) as NonNullable<typeof User.Type.refills>,
  }
}

/** The user's progress at `now`, in epoch milliseconds. */
export const showProgress = (
  user: UserState,
  project: ProjectState,
  rank: number | null,
  now: number,
): typeof Progress.Type => ({
  userId: user.id,
  xp: user.xp,
  level: levelAt(project.settings.levelCurve, user.xp),
  levelProgress: levelProgress(project.settings.levelCurve, user.xp),
  rank,
  points: balanceAt(user, project, "points", now).amount,
  ...showBalances(user, project, now),
  badges: badgeProgress(user, project, now).map(({ tiers, ...badge }) => ({
    ...badge,
    earnedAt: isoTimeOrNull(badge.earnedAt),
    ...(tiers !== undefined && {
      tiers: tiers.map((tier) => ({ ...tier, earnedAt: isoTimeOrNull(tier.earnedAt) })),
    }),
  })),
  quests: questProgress(user, project, now).map(showQuestProgress),
  streaks: streakProgress(user, project, now),
})

export const showQuestProgress = (quest: ProgressInQuest): typeof QuestProgress.Type => ({
  ...quest,
  periodEndsAt: isoTimeOrNull(quest.periodEndsAt),
  completedAt: isoTimeOrNull(quest.completedAt),
})

/* Checks of references in a body to definitions of the project. The body may have any form. */

/** The own member `name` of a value of any form. */
export const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined

/* Settings. */

const remindersOf = ({
  expiryDays = null,
  hour = 10,
  inactiveDays = [],
  leagueDays = null,
  questDays = null,
  unless = null,
}: typeof NewReminders.Type): Reminders => ({
  hour,
  inactiveDays: inactiveDays.toSorted((one, other) => one - other),
  unless,
  ...(questDays !== null && { questDays }),
  ...(expiryDays !== null && { expiryDays }),
  ...(leagueDays !== null && { leagueDays }),
})

/** The setting as replies and definition files have it. */
export const showReminders = (reminders: Reminders | undefined) =>
  reminders === undefined
    ? null
    : { questDays: null, expiryDays: null, leagueDays: null, ...reminders }

export const settingsChange = ({
  clientActions,
  reminders,
  timezone,
  ...rest
}: typeof ProjectPatch.Type): SettingsChange =>
  named({
    ...rest,
    clientActions: clientActions === null ? [] : clientActions,
    reminders: reminders && remindersOf(reminders),
    timezone: timezone === undefined ? undefined : canonicalTimeZone(timezone),
  })
