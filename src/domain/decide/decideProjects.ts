/**
 * Decides the commands on projects. Owners and the command line create, rename, archive and limit
 * projects.
 */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import type { Asker } from "../accounts/Account.ts"
import { asks, ownerAsks } from "../accounts/decideAccounts.ts"
import {
  type DirectoryState,
  firstPartition,
  limitOf,
  type Project,
  partitionOf,
  projectNameCharactersMax,
  projectNamed,
  projectNamePattern,
  type Tier,
  tierRequestsPerMinute,
} from "../project/Directory.ts"
import type { Fact } from "../record/Record.ts"
import {
  type Fault,
  invalidRequest,
  type LaurelError,
  quotaExceeded,
  refuse,
} from "../values/Errors.ts"
import type { Decided } from "./Decided.ts"

export type ProjectsCommand =
  | {
      readonly kind: "createProject"
      readonly by: Asker
      readonly project: Pick<Project, "id" | "name">
      readonly partitions?: Partitions
    }
  | {
      readonly kind: "renameProject"
      readonly by: Asker
      readonly projectId: string
      readonly name: string
    }
  /**
   * The keys of an archived project are refused; nothing is deleted. The caller's session must be
   * confirmed.
   */
  | { readonly kind: "archiveProject"; readonly by: Asker; readonly projectId: string }
  | { readonly kind: "unarchiveProject"; readonly by: Asker; readonly projectId: string }
  /**
   * Sets the tier of a project. Only the tier `enterprise` may have `requestsPerMinute`; without it
   * the tier has no limit.
   */
  | {
      readonly kind: "limitProject"
      readonly by: Asker
      readonly projectId: string
      readonly tier: Tier
      readonly requestsPerMinute?: number | null | undefined
    }
  /**
   * Projects whose data other partitions have, and which the directory lacks since a restore to an
   * earlier time.
   */
  | {
      readonly kind: "adoptProjects"
      readonly by: "operator"
      readonly projects: ReadonlyArray<Project>
    }

/** The server of a partition, and its load: requests and records per second. */
export interface PartitionPlace {
  readonly server: string
  readonly load: number
}

/**
 * The partitions of the cluster in order, or their number if one server has all of them. Absent
 * without a cluster.
 */
export type Partitions = number | ReadonlyArray<PartitionPlace> | undefined

export const decideProjects = (
  state: DirectoryState,
  command: ProjectsCommand,
  now: number,
): Decided => {
  const asked = command.kind === "archiveProject" ? ownerAsks : ownerOnly
  return Result.flatMap<unknown, LaurelError, ReadonlyArray<Fact>, LaurelError>(
    asked(state, command.by, now),
    () => decide(state, command, now),
  )
}

const decide = (state: DirectoryState, command: ProjectsCommand, now: number): Decided => {
  if (command.kind === "createProject") {
    const { partitions, project } = command
    return Result.map(newProject(state, project, partitions, now), (made) => [
      { kind: "project.created", project: made },
    ])
  }
  if (command.kind === "adoptProjects") return Result.succeed(adopt(state, command.projects, now))
  const { projectId } = command
  const project = state.projects.get(projectId)
  if (project === undefined) return projectNotFound
  if (command.kind === "renameProject") {
    const { name } = command
    if (name === project.name) return Result.succeed([])
    return Result.map(freeName(state, name), () => [{ kind: "project.renamed", projectId, name }])
  }
  if (command.kind === "limitProject") return limitProject(project, command)
  const archived = command.kind === "archiveProject"
  if (archived === (project.archivedAt !== undefined)) return Result.succeed([])
  return Result.succeed([{ kind: archived ? "project.archived" : "project.unarchived", projectId }])
}

const limitProject = (
  project: Project,
  { requestsPerMinute, tier }: Extract<ProjectsCommand, { readonly kind: "limitProject" }>,
): Decided => {
  const fault = limitFault(tier, requestsPerMinute)
  if (fault !== undefined) return Result.fail(invalidRequest([fault]))
  const limit = {
    tier,
    requestsPerMinute:
      tier === "enterprise" ? (requestsPerMinute ?? null) : tierRequestsPerMinute[tier],
  }
  const before = limitOf(project)
  return before.tier === tier && before.requestsPerMinute === limit.requestsPerMinute
    ? Result.succeed([])
    : Result.succeed([{ kind: "project.limited", projectId: project.id, limit }])
}

const limitFault = (tier: Tier, requestsPerMinute?: number | null): Fault | undefined => {
  const pointer = "/rateLimit"
  if (requestsPerMinute === undefined) return undefined
  if (tier !== "enterprise") {
    const detail = `must be absent: only the enterprise tier sets its own limit; ${tier} has ${tierRequestsPerMinute[tier]}`
    return { pointer, code: "invalid_value", detail }
  }
  if (requestsPerMinute === null) return undefined
  const most = limits.requestsPerMinuteMax
  if (Number.isInteger(requestsPerMinute) && requestsPerMinute >= 1 && requestsPerMinute <= most) {
    return undefined
  }
  const detail = `must be a whole number from 1 to ${most}, or null for no limit`
  return { pointer, code: "out_of_range", detail }
}

/**
 * A new project. Refuses a malformed or used name, and a project beyond the maximum number.
 * `placeFor` chooses the partition.
 */
export const newProject = (
  state: DirectoryState,
  { id, name }: Pick<Project, "id" | "name">,
  partitions: Partitions,
  now: number,
): Result.Result<Project, LaurelError> =>
  Result.flatMap(freeName(state, name), () => {
    if (state.projects.size >= limits.projectsMax) {
      return quotaExceeded(limits.projectsMax, "projects")
    }
    const partition = placeFor(state, partitions ?? 1)
    return Result.succeed({
      id,
      name,
      createdAt: now,
      ...(partition !== firstPartition && { partition }),
    })
  })

/**
 * Adopts the projects that the directory lacks. Each keeps its id, which its data belongs to, and
 * is archived until an operator decides about it. If another project has its name, the name gets a
 * number.
 */
const adopt = (
  state: DirectoryState,
  projects: ReadonlyArray<Project>,
  now: number,
): ReadonlyArray<Fact> => {
  const names = new Set(Array.from(state.projects.values(), ({ name }) => name))
  const isForgotten = (project: Project): boolean =>
    !state.projects.has(project.id) && partitionOf(project) !== 1
  return projects.filter(isForgotten).map((project) => {
    const name = freeLike(names, project.name)
    names.add(name)
    return { kind: "project.created", project: { ...project, name, archivedAt: now } }
  })
}

const freeLike = (names: ReadonlySet<string>, name: string): string => {
  let free = name
  for (let number = 2; names.has(free); number++) {
    const end = `-${number}`
    free = name.slice(0, projectNameCharactersMax - end.length) + end
  }
  return free
}

/**
 * The partition for a new project. The server is the one with the smallest sum of its share of the
 * load and its share of the projects; its partition is the one with the fewest projects, then the
 * least load, then the lowest number. Archived projects count. A new project has no load, so
 * several new projects go to several servers in turn.
 */
const placeFor = (
  { projects }: DirectoryState,
  partitions: number | ReadonlyArray<PartitionPlace>,
): number => {
  const places =
    typeof partitions === "number"
      ? new Array<PartitionPlace>(partitions).fill({ server: "", load: 0 })
      : partitions
  const counts = new Array<number>(places.length).fill(0)
  for (const project of projects.values()) {
    const index = partitionOf(project) - 1
    if (index < places.length) counts[index]!++
  }
  const share = (part: number, whole: number) => (whole === 0 ? 0 : part / whole)
  const totalLoad = places.reduce((sum, { load }) => sum + load, 0)
  const shares = new Map<string, number>()
  for (const [index, { load, server }] of places.entries()) {
    const own = share(load, totalLoad) + share(counts[index]!, projects.size)
    shares.set(server, (shares.get(server) ?? 0) + own)
  }
  const [first] = places
    .map(({ load, server }, index) => ({ index, load, server }))
    .sort(
      (one, other) =>
        shares.get(one.server)! - shares.get(other.server)! ||
        counts[one.index]! - counts[other.index]! ||
        one.load - other.load ||
        one.index - other.index,
    )
  return first!.index + 1
}

const freeName = (state: DirectoryState, name: string): Result.Result<void, LaurelError> => {
  const faults = projectNameFaults(name, "/name")
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  return projectNamed(state, name) === undefined
    ? Result.void
    : refuse("conflict", `A project has the name ${name} already.`)
}

export const projectNameFaults = (name: string, pointer: string): ReadonlyArray<Fault> => {
  if (projectNamePattern.test(name)) return []
  const detail =
    "must be 1 to 63 lower-case letters, digits or dashes, and begin with a letter or digit"
  return [{ pointer, code: "invalid_format", detail }]
}

/** Refuses a caller who is neither an owner nor the command line. */
const ownerOnly = (
  state: DirectoryState,
  by: Asker,
  now: number,
): Result.Result<unknown, LaurelError> => {
  if (by === "operator") return Result.void
  return Result.flatMap(asks(state, by, now), ({ account }) =>
    account.access.owner
      ? Result.void
      : refuse("insufficient_role", "Only an owner may manage projects."),
  )
}

const projectNotFound = refuse("project_not_found", "No project has this id.")
