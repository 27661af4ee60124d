/**
 * A fact of a history in columns, as tables of a warehouse have it: those that an export writes and
 * those that a sync fills.
 */

/** What the columns are made of: a fact as the API shows it. */
export interface ShownFact {
  readonly kind: string
  /** ISO 8601. */
  readonly at: string
  readonly sequence: number
  readonly cause: { readonly kind: string }
}

export interface FactColumns {
  readonly sequence: number
  /** ISO 8601. */
  readonly decidedAt: string
  readonly kind: string
  readonly cause: string
  /** Laurel's id of the event, reward or spend that a fact comes from, or that it undoes. */
  readonly causeId: string | null
  readonly action: string | null
  /** ISO 8601; null: no event caused the fact. */
  readonly occurredAt: string | null
  readonly currency: string | null
  readonly amount: number | null
  readonly total: number | null
  /** The members of the fact. */
  readonly data: object
  /** That of the event. */
  readonly metadata: object | null
}

export const factColumns = ({ at, cause, kind, sequence, ...data }: ShownFact): FactColumns => {
  const members = data as Readonly<Record<string, unknown>>
  const about = cause as Readonly<Record<string, unknown>>
  const isEvent = cause.kind === "event"
  const [family] = kind.split(".")
  return {
    sequence,
    decidedAt: at,
    kind,
    cause: cause.kind,
    causeId: textOrNull(about.eventId ?? about.rewardId ?? about.spendId ?? about.purchaseId),
    action: isEvent ? textOrNull(about.action) : null,
    occurredAt: isEvent ? textOrNull(about.occurredAt) : null,
    currency: family === "xp" || family === "points" ? family : textOrNull(members.currency),
    amount: Number.isSafeInteger(members.amount) ? (members.amount as number) : null,
    total: typeof members.total === "number" ? members.total : null,
    data,
    metadata: isEvent ? ((about.metadata as object | null | undefined) ?? null) : null,
  }
}

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null)
