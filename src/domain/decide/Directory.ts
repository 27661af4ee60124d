/** Decides commands to the directory. */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import type { AccountCommand } from "../accounts/AccountCommand.ts"
import { decideAccounts } from "../accounts/decideAccounts.ts"
import {
  type ApiKey,
  type DirectoryState,
  projectNamed,
  projectNamePattern,
  tierRequestsPerMinute,
} from "../project/Directory.ts"
import type { Fact } from "../record/Record.ts"
import { type Fault, invalidRequest, refuse } from "../values/Errors.ts"
import type { Decided } from "./Decided.ts"

export type DirectoryCommand =
  | AccountCommand
  /** Stores the secret for the hashes of all keys; once per data directory. */
  | { readonly kind: "createDirectory"; readonly hashSecret: string }
  /** Creates the key, and its project if no project has this name. */
  | {
      readonly kind: "createKey"
      readonly projectId: string
      readonly projectName: string
      readonly key: Omit<ApiKey, "projectId" | "createdAt" | "revokedAt">
    }
  | { readonly kind: "revokeKey"; readonly keyId: string }
  /** An empty record of an idle server, so that the journal advances and old segments can be pruned. */
  | { readonly kind: "heartbeat" }

export const decideDirectory = (
  state: DirectoryState,
  command: DirectoryCommand,
  now: number,
): Decided => {
  switch (command.kind) {
    case "createDirectory":
      return state.hashSecret === null
        ? Result.succeed([{ kind: "directory.created", hashSecret: command.hashSecret }])
        : refuse("conflict", "The directory already has its secret.")
    case "createKey": {
      const faults = keyFaults(command, now)
      if (faults.length > 0) return Result.fail(invalidRequest(faults))
      if (keysInForce(state) >= limits.keysMax) return quotaExceeded("keys", limits.keysMax)
      const facts: Array<Fact> = []
      let project = projectNamed(state, command.projectName)
      if (project === undefined) {
        if (state.projects.size >= limits.projectsMax) {
          return quotaExceeded("projects", limits.projectsMax)
        }
        project = { id: command.projectId, name: command.projectName, createdAt: now }
        facts.push({ kind: "project.created", project })
      }
      const key = { ...command.key, projectId: project.id, createdAt: now, revokedAt: null }
      facts.push({ kind: "key.created", key })
      return Result.succeed(facts)
    }
    case "revokeKey": {
      const key = state.keys.get(command.keyId)
      if (key === undefined || key.revokedAt !== null) {
        return refuse("key_not_found", "No active key has this id.")
      }
      return Result.succeed([{ kind: "key.revoked", keyId: command.keyId }])
    }
    case "heartbeat":
      return Result.succeed([])
    default:
      return decideAccounts(state, state.projects, command, now)
  }
}

const keyFaults = (
  { key, projectName }: Extract<DirectoryCommand, { readonly kind: "createKey" }>,
  now: number,
): ReadonlyArray<Fault> => {
  const faults: Array<Fault> = []
  if (!projectNamePattern.test(projectName)) {
    const detail =
      "must be 1 to 63 lower-case letters, digits or dashes, and begin with a letter or digit"
    faults.push({ pointer: "/project", code: "invalid_format", detail })
  }
  const limit = key.requestsPerMinute
  if (key.tier !== "enterprise" && limit !== tierRequestsPerMinute[key.tier]) {
    const detail = `must be absent: only the enterprise tier sets its own limit; ${key.tier} has ${tierRequestsPerMinute[key.tier]}`
    faults.push({ pointer: "/rateLimit", code: "invalid_value", detail })
  } else if (
    limit !== null &&
    !(Number.isInteger(limit) && limit >= 1 && limit <= limits.requestsPerMinuteMax)
  ) {
    const detail = `must be a whole number from 1 to ${limits.requestsPerMinuteMax}, or null for none`
    faults.push({ pointer: "/rateLimit", code: "out_of_range", detail })
  }
  if (key.expiresAt !== undefined && !(key.expiresAt > now)) {
    faults.push({ pointer: "/expiresAt", code: "out_of_range", detail: "must be in the future" })
  }
  return faults
}

const quotaExceeded = (what: string, most: number) =>
  refuse("quota_exceeded", `At most ${most} ${what} are allowed.`)

const keysInForce = (state: DirectoryState): number => {
  let count = 0
  for (const key of state.keys.values()) if (key.revokedAt === null) count++
  return count
}
