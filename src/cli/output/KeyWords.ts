/** Keys in words for people. */
import { Console, Effect } from "effect"
import type { CreatedKey, KeyDetails } from "../../accounts/ApiKeys.ts"
import { scopeOf } from "../../domain/project/Directory.ts"
import { type Column, formatTable } from "./Table.ts"

const columns: ReadonlyArray<Column<KeyDetails>> = [
  { title: "ID", align: "left", text: (key) => key.id },
  { title: "NAME", align: "left", text: (key) => key.name },
  { title: "PROJECT", align: "left", text: (key) => key.project },
  { title: "ENVIRONMENT", align: "left", text: (key) => key.environment },
  { title: "SCOPE", align: "left", text: scopeOf },
  { title: "KEY", align: "left", text: (key) => `${key.hint}…` },
  { title: "CREATED", align: "left", text: (key) => day(key.createdAt) },
  { title: "BY", align: "left", text: (key) => key.createdBy },
  { title: "LAST USED", align: "left", text: (key) => key.lastUsedAt?.slice(0, 16) ?? "never" },
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

/**
 * Prints only the new key on standard output, for scripts, and its details on standard error. With
 * `json` prints all of it as JSON. `more` is a further sentence.
 */
export const printCreated = (
  created: CreatedKey,
  json: boolean,
  more?: string,
): Effect.Effect<void> =>
  json
    ? Console.log(JSON.stringify(created))
    : Effect.andThen(
        Console.log(created.key),
        Console.error([aboutKey(created), ...(more === undefined ? [] : [more])].join(" ")),
      )

const aboutKey = (key: CreatedKey): string => {
  const { allowedCidrs, allowedOrigins } = key
  const from = [...allowedOrigins.map((origin) => `pages of ${origin}`), ...allowedCidrs]
  return [
    `${key.id} (${key.name}): project ${key.project}, ${key.environment}, scope ${scopeOf(key)}`,
    key.expiresAt === null ? "" : `, until ${key.expiresAt}`,
    from.length === 0 ? "" : `, from ${from.join(", ")}`,
    ". The key is shown only once.",
    key.projectCreated ? ` Created project ${key.project}, which did not exist.` : "",
  ].join("")
}
