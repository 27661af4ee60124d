/** Decides the commands to the directory. */
import { Result } from "effect"
import type { AccountCommand } from "../accounts/Account.ts"
import { decideAccounts } from "../accounts/decideAccounts.ts"
import type { DirectoryState } from "../project/Directory.ts"
import { refuse } from "../values/Errors.ts"
import type { Decided } from "./Decided.ts"
import { decideKeys, type KeyCommand } from "./decideKeys.ts"
import { decideProjects, type ProjectsCommand } from "./decideProjects.ts"

export type DirectoryCommand =
  | AccountCommand
  | ProjectsCommand
  | KeyCommand
  /** Stores the secret with which all keys are hashed. Once per data directory. */
  | { readonly kind: "createDirectory"; readonly hashSecret: string }
  /**
   * Marks the data directory as the one of this partition, which is not the first. It takes no
   * other command but a heartbeat.
   */
  | { readonly kind: "beginPartition"; readonly partition: number }
  /**
   * Writes an empty record on an idle server, so that the journal advances and old segments can be
   * pruned.
   */
  | { readonly kind: "heartbeat" }

export const decideDirectory = (
  state: DirectoryState,
  command: DirectoryCommand,
  now: number,
): Decided => {
  const { partition } = state
  if (
    partition !== undefined &&
    command.kind !== "heartbeat" &&
    command.kind !== "beginPartition"
  ) {
    return refuse(
      "conflict",
      `Partition ${partition} has no projects, keys and accounts of its own.`,
    )
  }
  switch (command.kind) {
    case "beginPartition":
      return beginPartition(state, command.partition)
    case "createDirectory":
      return state.hashSecret === null
        ? Result.succeed([{ kind: "directory.created", hashSecret: command.hashSecret }])
        : refuse("conflict", "The directory already has its secret.")
    case "createKey":
    case "rotateKey":
    case "revokeKey":
    case "useKeys":
      return decideKeys(state, command, now)
    case "heartbeat":
      return Result.succeed([])
    case "createProject":
    case "renameProject":
    case "archiveProject":
    case "unarchiveProject":
    case "limitProject":
    case "adoptProjects":
      return decideProjects(state, command, now)
    default:
      return decideAccounts(state, state.projects, command, now)
  }
}

const beginPartition = (state: DirectoryState, partition: number): Decided => {
  if (state.partition === partition) return Result.succeed([])
  if (state.partition !== undefined) {
    return refuse("conflict", `The data is that of partition ${state.partition}.`)
  }
  const { accounts, hashSecret, keys, projects } = state
  const isEmpty = hashSecret === null && accounts.size + keys.size + projects.size === 0
  return isEmpty
    ? Result.succeed([{ kind: "partition.begun", partition }])
    : refuse("conflict", "The data has projects of its own: it is that of the first partition.")
}
