/** What several groups say in the same way. */
import type { Caller } from "../../accounts/Accounts.ts"
import type { Fact, JournalRecord } from "../../domain/Record.ts"
import { limits } from "../../Limits.ts"

/** Epoch milliseconds as ISO 8601, UTC, with milliseconds. */
export const isoTime = (ms: number): string => new Date(ms).toISOString()

/** `isoTime` for times that mostly lie close together: it keeps the text of the last second. */
export const makeIsoTime = (): ((ms: number) => string) => {
  let second = Number.NaN
  let text = ""
  return (ms) => {
    const of = Math.floor(ms / 1_000)
    if (of !== second) {
      second = of
      text = isoTime(of * 1_000).slice(0, -4)
    }
    return `${text}${String(ms - of * 1_000).padStart(3, "0")}Z`
  }
}

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

/** What a list says of its page of `shown` items out of `total`. */
export const pageInfo = (page: Page, total: number, shown: number) => ({
  total,
  limit: page.limit,
  offset: page.offset,
  hasMore: page.offset + shown < total,
})

/** The items of `all` that are on `page` and satisfy `chosen`, and how many do in all. */
export const pageItems = <A>(
  all: Iterable<A>,
  { limit, offset }: Page,
  chosen: (item: A) => boolean = () => true,
): { readonly items: ReadonlyArray<A>; readonly total: number } => {
  const items: Array<A> = []
  let total = 0
  for (const item of all) {
    if (!chosen(item)) continue
    if (total >= offset && items.length < limit) items.push(item)
    total++
  }
  return { items, total }
}

/** The fact of `kind` in `record`, which was made by a command that always decides one. */
export const factOf = <Kind extends Fact["kind"]>(
  record: JournalRecord,
  kind: Kind,
): Extract<Fact, { readonly kind: Kind }> => {
  for (const fact of record.facts) {
    if (fact.kind === kind) return fact as Extract<Fact, { readonly kind: Kind }>
  }
  throw new Error(`Record ${record.sequence} has no fact ${kind}`)
}

/** Whether a caller's requests go to production. */
export const isProduction = (caller: Caller): boolean => caller.environmentName === "production"
