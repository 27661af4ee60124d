/** Decides commands to the directory about projects: owners and the command line create, rename and archive them. */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import type { Asker } from "../accounts/AccountCommand.ts"
import { asks, ownerAsks, quotaExceeded } from "../accounts/decisions.ts"
import {
  type DirectoryState,
  firstPartition,
  type Project,
  partitionOf,
  projectNameCharactersMax,
  projectNamed,
  projectNamePattern,
} from "../project/Directory.ts"
import type { Fact } from "../record/Record.ts"
import { type Fault, invalidRequest, type LaurelError, refuse } from "../values/Errors.ts"
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
  /** Its keys are refused until it is unarchived; nothing is deleted. The asking session must be confirmed. */
  | { readonly kind: "archiveProject"; readonly by: Asker; readonly projectId: string }
  | { readonly kind: "unarchiveProject"; readonly by: Asker; readonly projectId: string }
  /** Projects whose data other partitions have, unknown since the directory went back to before they were made. */
  | {
      readonly kind: "adoptProjects"
      readonly by: "operator"
      readonly projects: ReadonlyArray<Project>
    }

/** Partitions of the cluster; absent without one. */
type Partitions = number | undefined

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
  const archived = command.kind === "archiveProject"
  if (archived === (project.archivedAt !== undefined)) return Result.succeed([])
  return Result.succeed([{ kind: archived ? "project.archived" : "project.unarchived", projectId }])
}

/**
 * A new project of this name, where the name is well-formed and free, and there is room for one more. Its partition is the
 * one that has the fewest projects, archived ones included.
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
    const partition = emptiest(state, partitions ?? 1)
    return Result.succeed({
      id,
      name,
      createdAt: now,
      ...(partition !== firstPartition && { partition }),
    })
  })

/**
 * Each keeps its id, which leads to its data, and is archived: it is for an operator to decide what becomes of that. A name that
 * another project has by now gets a number.
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

/** The first of the partitions with the fewest projects. */
const emptiest = ({ projects }: DirectoryState, partitions: number): number => {
  const counts = new Array<number>(partitions).fill(0)
  for (const project of projects.values()) {
    const index = partitionOf(project) - 1
    if (index < partitions) counts[index]!++
  }
  return counts.indexOf(Math.min(...counts)) + 1
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

/** An owner asks, or the command line. */
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
