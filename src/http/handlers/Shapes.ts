/** Parts of replies shared by groups of operations. */
import { Effect } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import type { Condition } from "../../domain/project/Condition.ts"
import type { Fact, FactOf, JournalRecord } from "../../domain/record/Record.ts"
import type { ErrorCode, LaurelError } from "../../domain/values/Errors.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import { limits } from "../../Limits.ts"

/** Badges with the time at which they were earned. */
export const showBadges = <Badge extends { readonly earnedAt: number }>(
  badges: ReadonlyArray<Badge>,
): ReadonlyArray<Omit<Badge, "earnedAt"> & { readonly earnedAt: string }> =>
  badges.map((badge) => ({ ...badge, earnedAt: isoTime(badge.earnedAt) }))

/** Epoch milliseconds of a time that a schema has accepted; `whole` as it is where there is none. */
export const timeOf = <Nothing extends null | undefined>(
  text: string | Nothing,
): number | Nothing => (typeof text === "string" ? Date.parse(text) : text)

/** `members` without those that are undefined: a patch leaves what it does not name. */
export const named = <A extends object>(members: A): Named<A> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Named<A>

type Named<A> = { readonly [Name in keyof A]?: Exclude<A[Name], undefined> }

/** A step, rule or criterion whose conditions may be left out. */
export const withWhere = <A extends { readonly where?: ReadonlyArray<Condition> }>(
  counted: A,
): A & { readonly where: ReadonlyArray<Condition> } => ({
  ...counted,
  where: counted.where ?? [],
})

export interface PageQuery {
  readonly limit?: number
  readonly offset?: number
}

export interface Page {
  readonly limit: number
  readonly offset: number
}

export const pageOf = ({ limit = limits.pageDefault, offset = 0 }: PageQuery): Page => ({
  limit,
  offset,
})

/** The members of a list that describe its page of `shown` items out of `total`. */
export const pageInfo = (page: Page, total: number, shown: number) => ({
  total,
  limit: page.limit,
  offset: page.offset,
  hasMore: page.offset + shown < total,
})

/** The items of `all` that satisfy `chosen`: those on the page of `query`, through `show`, and the page's description. */
export const pageItems = <A, Shown>(
  all: Iterable<A>,
  query: PageQuery,
  show: (item: A) => Shown,
  chosen: (item: A) => boolean = () => true,
) => {
  const page = pageOf(query)
  const items: Array<Shown> = []
  let total = 0
  for (const item of all) {
    if (!chosen(item)) continue
    if (total >= page.offset && items.length < page.limit) items.push(show(item))
    total++
  }
  return { items, page: pageInfo(page, total, items.length) }
}

/** Fails with `notFound` where `thing` is undefined. */
export const foundOr = <A, Code extends ErrorCode>(
  thing: A | undefined,
  notFound: LaurelError<Code>,
): Effect.Effect<A, LaurelError<Code>> =>
  thing === undefined ? Effect.fail(notFound) : Effect.succeed(thing)

/** The fact of `kind` in `record`, which was made by a command that always decides one. */
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
