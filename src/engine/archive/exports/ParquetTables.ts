/**
 * The tables of an export for a warehouse: what callers read of users, in columns. A fact is that
 * of the user's history (`domain/message/HistoryFact.ts`).
 */

import { isShown } from "../../../domain/message/FactMembers.ts"
import { historyFact } from "../../../domain/message/HistoryFact.ts"
import { levelAt } from "../../../domain/project/Level.ts"
import type { ProjectState } from "../../../domain/project/Project.ts"
import type { JournalRecord } from "../../../domain/record/Record.ts"
import { pendingAt } from "../../../domain/user/Lots.ts"
import { balanceAt } from "../../../domain/user/Refill.ts"
import type { UserState } from "../../../domain/user/User.ts"
import { factColumns } from "./factColumns.ts"
import type { Cell, Column } from "./ParquetParts.ts"

type Row = ReadonlyArray<Cell>

const required = (name: string, type: Column["type"]): Column => ({ name, type, nullable: false })
const optional = (name: string, type: Column["type"]): Column => ({ name, type, nullable: true })

/** The columns that name a user. */
const place = [
  required("project", "STRING"),
  required("environment", "STRING"),
  required("user_id", "STRING"),
]

export const parquetTables = {
  facts: [
    ...place,
    required("sequence", "INT64"),
    required("number", "INT32"),
    required("decided_at", "TIMESTAMP"),
    required("kind", "STRING"),
    required("cause", "STRING"),
    optional("cause_id", "STRING"),
    optional("action", "STRING"),
    optional("occurred_at", "TIMESTAMP"),
    optional("currency", "STRING"),
    optional("amount", "INT64"),
    optional("total", "DOUBLE"),
    required("data", "STRING"),
    optional("metadata", "STRING"),
  ],
  users: [
    ...place,
    optional("display_name", "STRING"),
    optional("timezone", "STRING"),
    required("hidden", "BOOLEAN"),
    required("attributes", "STRING"),
    required("xp", "INT64"),
    required("level", "INT32"),
    required("points", "INT64"),
    required("created_at", "TIMESTAMP"),
    required("updated_at", "TIMESTAMP"),
    required("former_ids", "STRING"),
  ],
  balances: [
    ...place,
    required("currency", "STRING"),
    required("amount", "INT64"),
    required("spent", "INT64"),
    required("pending", "INT64"),
  ],
} as const satisfies Record<string, ReadonlyArray<Column>>

export type ParquetTable = keyof typeof parquetTables

/** The id of the project and the name of the environment, from the id of the environment. */
const placeOf = (environment: string, userId: string): Row => {
  const at = environment.lastIndexOf(":")
  return [environment.slice(0, at), environment.slice(at + 1), userId]
}

/** The facts of a user's record that its history shows. */
export function* factRows(record: JournalRecord): Generator<Row> {
  const { subject } = record
  if (subject.actor !== "user") return
  for (const [number, fact] of record.facts.entries()) {
    if (!isShown(fact)) continue
    const columns = factColumns(historyFact(record, fact))
    const { amount, metadata, occurredAt } = columns
    yield [
      ...placeOf(subject.environment, subject.userId),
      BigInt(columns.sequence),
      number,
      new Date(columns.decidedAt),
      columns.kind,
      columns.cause,
      columns.causeId,
      columns.action,
      occurredAt === null ? null : new Date(occurredAt),
      columns.currency,
      amount === null ? null : BigInt(amount),
      columns.total,
      JSON.stringify(columns.data),
      metadata === null ? null : JSON.stringify(metadata),
    ]
  }
}

/** A user as of `now`, the environment's time. */
export const userRow = (
  environment: string,
  user: UserState,
  project: ProjectState,
  now: number,
): Row => {
  const { attributes, displayName, hidden, timezone } = user.profile
  return [
    ...placeOf(environment, user.id),
    displayName,
    timezone,
    hidden,
    JSON.stringify(attributes),
    BigInt(user.xp),
    levelAt(project.settings.levelCurve, user.xp),
    BigInt(balanceAt(user, project, "points", now).amount),
    new Date(user.createdAt),
    new Date(user.updatedAt),
    JSON.stringify(user.absorbed.map(({ userId }) => userId)),
  ]
}

/** The user's balances of xp, points and all active currencies as of `now`. */
export function* balanceRows(
  environment: string,
  user: UserState,
  project: ProjectState,
  now: number,
): Generator<Row> {
  const active = [...project.currencies.values()].filter(({ set }) => set === "published")
  for (const key of new Set(["xp", "points", ...active.map((one) => one.key)])) {
    const { amount, spent } = balanceAt(user, project, key, now)
    const pending = pendingAt(user, key, now)
    yield [...placeOf(environment, user.id), key, BigInt(amount), BigInt(spent), BigInt(pending)]
  }
}
