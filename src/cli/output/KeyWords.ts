/** Keys in words for people. */
import type { KeyDetails } from "../../accounts/ApiKeys.ts"
import { type Column, formatTable } from "./Table.ts"

export const rateLimitText = (rateLimit: number | null): string =>
  rateLimit === null ? "no limit" : `${rateLimit}/min`

const columns: ReadonlyArray<Column<KeyDetails>> = [
  { title: "ID", align: "left", text: (key) => key.id },
  { title: "PROJECT", align: "left", text: (key) => key.project },
  { title: "ENVIRONMENT", align: "left", text: (key) => key.environment },
  { title: "SCOPE", align: "left", text: (key) => key.scope },
  { title: "TIER", align: "left", text: (key) => key.tier },
  { title: "LIMIT", align: "left", text: (key) => rateLimitText(key.rateLimit) },
  { title: "KEY", align: "left", text: (key) => `${key.hint}…` },
  { title: "CREATED", align: "left", text: (key) => day(key.createdAt) },
  { title: "STATUS", align: "left", text: (key) => statusText(key) },
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

/** One line for each key. */
export const keyTable = (keys: ReadonlyArray<KeyDetails>): string => formatTable(columns, keys)
