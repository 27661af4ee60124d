/** Keys in words for people. */
import type { KeyDetails } from "../../accounts/ApiKeys.ts"

export const rateLimitText = (rateLimit: number | null): string =>
  rateLimit === null ? "no limit" : `${rateLimit}/min`

const columns: ReadonlyArray<readonly [title: string, cell: (key: KeyDetails) => string]> = [
  ["ID", (key) => key.id],
  ["PROJECT", (key) => key.project],
  ["ENVIRONMENT", (key) => key.environment],
  ["SCOPE", (key) => key.scope],
  ["TIER", (key) => key.tier],
  ["LIMIT", (key) => rateLimitText(key.rateLimit)],
  ["KEY", (key) => `${key.hint}…`],
  ["CREATED", (key) => day(key.createdAt)],
  ["STATUS", (key) => statusText(key)],
]

const day = (isoTime: string): string => isoTime.slice(0, 10)

const statusText = ({ expiresAt, revokedAt, status }: KeyDetails): string => {
  switch (status) {
    case "revoked":
      return `revoked ${day(revokedAt ?? "")}`
    case "expired":
      return `expired ${day(expiresAt ?? "")}`
    case "in_force":
      return expiresAt === null ? "in force" : `in force until ${day(expiresAt)}`
  }
}

/** A table with a title row, its columns as wide as needed. */
export const keyTable = (keys: ReadonlyArray<KeyDetails>): string => {
  const rows = [
    columns.map(([title]) => title),
    ...keys.map((key) => columns.map(([, cell]) => cell(key))),
  ]
  const widths = columns.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n")
}
