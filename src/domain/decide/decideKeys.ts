/** Decides the commands on API keys. */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import type { Asker } from "../accounts/Account.ts"
import { includesRole, roleIn } from "../accounts/Account.ts"
import { asks, confirmed } from "../accounts/decideAccounts.ts"
import {
  type ApiKey,
  type DirectoryState,
  type EnvironmentName,
  isKeyInForce,
  normalRestrictions,
  type Project,
  projectNamed,
  type RotationOverlap,
  restrictionFaults,
  rotationOverlapMs,
  scopeOf,
} from "../project/Directory.ts"
import type { DirectoryFact } from "../record/Record.ts"
import {
  type Fault,
  invalidRequest,
  type LaurelError,
  quotaExceeded,
  refuse,
} from "../values/Errors.ts"
import { nameFault } from "../values/Ids.ts"
import { newProject, type Partitions, projectNameFaults } from "./decideProjects.ts"

export type KeyCommand =
  /**
   * Creates the key in the project `inProject`. Without it, in the project `projectName`, which is
   * created if it does not exist.
   */
  | {
      readonly kind: "createKey"
      readonly by: Asker
      readonly projectId: string
      readonly projectName: string
      readonly inProject?: string | undefined
      /** As in `createProject`. */
      readonly partitions?: Partitions
      readonly key: Omit<
        ApiKey,
        "createdAt" | "createdBy" | "lastUsedAt" | "name" | "projectId" | "replacedBy" | "revokedAt"
      > & { readonly name?: string | undefined }
    }
  /** Creates a copy of the key `keyId` with another text. The old key expires after `overlap`. */
  | {
      readonly kind: "rotateKey"
      readonly by: Asker
      readonly keyId: string
      readonly overlap: RotationOverlap
      readonly key: Pick<ApiKey, "hash" | "hint" | "id">
    }
  | { readonly kind: "revokeKey"; readonly by: Asker; readonly keyId: string }
  /** Records the times at which keys were last used. */
  | {
      readonly kind: "useKeys"
      readonly used: ReadonlyArray<readonly [keyId: string, at: number]>
    }

type Decision = Result.Result<ReadonlyArray<DirectoryFact>, LaurelError>

export const decideKeys = (state: DirectoryState, command: KeyCommand, now: number): Decision => {
  switch (command.kind) {
    case "createKey":
      return createKey(state, command, now)
    case "rotateKey":
      return rotateKey(state, command, now)
    case "revokeKey": {
      const key = state.keys.get(command.keyId)
      if (key === undefined || key.revokedAt !== null) return keyNotFound
      const asker = manager(state, command.by, state.projects.get(key.projectId), now)
      return Result.map(asker, () => [{ kind: "key.revoked", keyId: key.id }])
    }
    case "useKeys": {
      const used = new Map(command.used)
      for (const [keyId, at] of used) {
        const key = state.keys.get(keyId)
        const before = key?.lastUsedAt ?? Number.NEGATIVE_INFINITY
        if (key === undefined || at <= before) used.delete(keyId)
      }
      return Result.succeed([{ kind: "keys.used", used: [...used] }])
    }
  }
}

const projectNotFound = refuse("project_not_found", "No project has this id.")

const createKey = (
  state: DirectoryState,
  command: Extract<KeyCommand, { readonly kind: "createKey" }>,
  now: number,
): Decision => {
  const { by, inProject, projectName } = command
  const known =
    inProject === undefined ? projectNamed(state, projectName) : state.projects.get(inProject)
  if (inProject !== undefined && known === undefined) return projectNotFound
  const { allowedCidrs, allowedOrigins, name, ...wish } = command.key
  const asker = creator(state, by, known, wish.environment, now)
  if (Result.isFailure(asker)) return Result.fail(asker.failure)
  const faults = keyFaults(command, now)
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  if (known?.archivedAt !== undefined) {
    return refuse("conflict", `Project ${projectName} is archived. Unarchive it first.`)
  }
  const made = known
    ? Result.succeed(known)
    : newProject(state, { id: command.projectId, name: projectName }, command.partitions, now)
  if (Result.isFailure(made)) return Result.fail(made.failure)
  const project = made.success
  const key: ApiKey = {
    ...wish,
    name: name ?? `${scopeOf(wish)} key`,
    ...normalRestrictions({ allowedCidrs, allowedOrigins }),
    projectId: project.id,
    createdBy: asker.success,
    createdAt: now,
    revokedAt: null,
  }
  const full = quotaOf(state, key, now)
  if (full !== undefined) return full
  return Result.succeed([
    ...(known === undefined ? [{ kind: "project.created", project } as const] : []),
    { kind: "key.created", key } as const,
  ])
}

const rotateKey = (
  state: DirectoryState,
  command: Extract<KeyCommand, { readonly kind: "rotateKey" }>,
  now: number,
): Decision => {
  const { by, keyId, overlap } = command
  const old = state.keys.get(keyId)
  if (old === undefined || !isKeyInForce(old, now)) return keyNotFound
  const asker = creator(state, by, state.projects.get(old.projectId), old.environment, now)
  if (Result.isFailure(asker)) return Result.fail(asker.failure)
  if (old.replacedBy !== undefined) {
    return refuse("conflict", `The key was rotated before; rotate its successor ${old.replacedBy}.`)
  }
  const { expiresAt: oldExpiresAt, lastUsedAt: _, ...same } = old
  const key: ApiKey = {
    ...same,
    ...command.key,
    createdBy: asker.success,
    createdAt: now,
    // A key with a limited lifetime has a successor with the same lifetime.
    ...(oldExpiresAt !== undefined && { expiresAt: now + oldExpiresAt - old.createdAt }),
  }
  const expiresAt = Math.min(
    now + rotationOverlapMs[overlap],
    oldExpiresAt ?? Number.POSITIVE_INFINITY,
  )
  const full = expiresAt > now ? quotaOf(state, key, now) : undefined
  return full ?? Result.succeed([{ kind: "key.rotated", keyId, expiresAt, key }])
}

/**
 * The id of the caller's account, or `operator`. Refuses a caller who may not manage the keys of
 * the project.
 */
const manager = (
  state: DirectoryState,
  by: Asker,
  project: Project | undefined,
  now: number,
): Result.Result<string, LaurelError> =>
  by === "operator"
    ? Result.succeed(by)
    : Result.flatMap(asks(state, by, now), ({ account }) =>
        includesRole(roleIn(account, project?.id ?? null), "admin")
          ? Result.succeed(account.id)
          : refuse("insufficient_role", "Only an admin of the project may manage its keys."),
      )

/** `manager`, for a caller who gets a new key: a key of production needs a confirmed session. */
const creator = (
  state: DirectoryState,
  by: Asker,
  project: Project | undefined,
  environment: EnvironmentName,
  now: number,
): Result.Result<string, LaurelError> =>
  Result.flatMap(manager(state, by, project, now), (asker) =>
    by === "operator" || environment !== "production"
      ? Result.succeed(asker)
      : Result.map(confirmed(state, by, now), () => asker),
  )

/** The refusal of another key in the environment of `added`, if the maximum number is reached. */
const quotaOf = (state: DirectoryState, added: ApiKey, now: number) => {
  let all = 0
  let own = 0
  for (const key of state.keys.values()) {
    if (!isKeyInForce(key, now)) continue
    all++
    if (key.projectId === added.projectId && key.environment === added.environment) own++
  }
  if (all >= limits.keysMax) return quotaExceeded(limits.keysMax, "keys in force")
  return own < limits.keysPerEnvironmentMax
    ? undefined
    : quotaExceeded(limits.keysPerEnvironmentMax, "keys in force per environment")
}

const keyFaults = (
  { key, projectName }: Extract<KeyCommand, { readonly kind: "createKey" }>,
  now: number,
): ReadonlyArray<Fault> => {
  const faults = [...projectNameFaults(projectName, "/project")]
  const detail =
    key.name === undefined
      ? undefined
      : key.name.trim() === ""
        ? "must not be empty"
        : nameFault(key.name, limits.keyNameCharactersMax)
  if (detail !== undefined) {
    faults.push({ pointer: "/name", code: "invalid_format", detail })
  }
  if (key.kind === "publishable" && key.scope !== "read") {
    const detail = "must be read: a publishable key only reads"
    faults.push({ pointer: "/scope", code: "invalid_value", detail })
  }
  if (key.expiresAt !== undefined && !(key.expiresAt > now)) {
    faults.push({ pointer: "/expiresAt", code: "out_of_range", detail: "must be in the future" })
  }
  return [...faults, ...restrictionFaults(key)]
}

const keyNotFound = refuse("key_not_found", "No key in force has this id.")
