/**
 * What a failure of an open engine means for the process, and the words for the operator.
 *
 * - A follower ends alone: `failed` completes, and the cluster opens the partition again.
 * - An owner in a cluster that was fenced, or whose local copy is damaged, ends its ownership.
 * - Any other failure ends the process without a last snapshot, since the state of the disk is
 *   unknown.
 */
import { Cause, type Context, Deferred, Effect, Predicate } from "effect"
import { type Config, partitionNumber } from "../../config/Config.ts"
import { isInUse } from "../../storage/disk/DirectoryLock.ts"
import { DiskError, isUnreadable } from "../../storage/disk/Disk.ts"
import { NoAddressSpace } from "../../storage/lmdb/addressSpace.ts"
import { rebuildHint } from "../../storage/lmdb/environment.ts"
import {
  type Broken,
  Damaged,
  Defect,
  Fenced,
  isDamagedHere,
  OtherFormat,
  type StorageError,
} from "../../storage/Storage.ts"
import { DamagedValue } from "../../storage/Values.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { cannotUse, unreadable } from "../output/JobWords.ts"

interface EngineFailuresOptions {
  readonly config: Config
  /** For log lines. */
  readonly context: Context.Context<never>
  /** In a cluster: another server has claimed the data. */
  readonly onFenced?: (() => void) | undefined
  /** In a cluster: the owner's copy is damaged. */
  readonly onDamaged?: (() => void) | undefined
}

export class EngineFailures {
  /** Completes when the engine of a follower has failed. */
  readonly failed = Deferred.makeUnsafe<Broken>()
  /** Whether this server has claimed the data. */
  isOwner = false
  /** In a cluster: marks the local copy as damaged, so that the next opening fills another one. */
  noteDamage: ((words: string) => void) | undefined
  readonly #options: EngineFailuresOptions
  #isDamaged = false

  constructor(options: EngineFailuresOptions) {
    this.#options = options
  }

  /** The engine cannot go on. */
  readonly onBroken = (broken: Broken): void => {
    const { onDamaged, onFenced } = this.#options
    // Consequences of the damage.
    if (this.#isDamaged) return
    if (broken.cause instanceof Fenced) {
      onFenced?.()
      return
    }
    if (this.#isDamageOfCopy(broken) && this.isOwner) {
      onDamaged?.()
      return
    }
    if (this.noteDamage !== undefined && !this.isOwner) {
      Deferred.doneUnsafe(this.failed, Effect.succeed(broken))
      return
    }
    this.#log(logBroken(broken))
    process.exit(exitCodeOf(broken))
  }

  /**
   * Damage of a local copy that `use` finds is noted, and ends `use` with words for the operator.
   */
  noting<A, E, R>(use: Effect.Effect<A, E, R>): Effect.Effect<A, E | CommandFailed, R> {
    return Effect.mapError(use, (error) =>
      this.#isDamageOfCopy(error)
        ? commandFailed(exitCodes.cannotWrite, `The local copy is damaged: ${error}`)
        : error,
    )
  }

  /** Notes and logs the damage. */
  #isDamageOfCopy(error: unknown): boolean {
    if (this.noteDamage === undefined || !isDamagedHere(error)) return false
    this.#isDamaged = true
    this.noteDamage(error.cause.message)
    const words =
      "The local copy of a partition is damaged; it will be moved aside and filled again from PostgreSQL"
    const details = { partition: partitionNumber(this.#options.config), cause: error.message }
    this.#log(Effect.annotateLogs(Effect.logError(words), details))
    return true
  }

  #log(line: Effect.Effect<void>): void {
    Effect.runSyncWith(this.#options.context)(line)
  }
}

/** Stored bytes are not what was written: a restart would find them again. */
const isDamage = ({ cause }: Broken): boolean => cause instanceof Damaged

const exitCodeOf = (broken: Broken): number => {
  if (isDamage(broken)) return exitCodes.damagedData
  return broken.cause instanceof Defect ? exitCodes.defect : exitCodes.diskFailed
}

const wordsOf = (broken: Broken): string => {
  if (broken.cause instanceof Defect) {
    return "A defect in Laurel stopped the process. A restart recovers all acknowledged writes. Please report this log line"
  }
  if (broken.cause instanceof DamagedValue) {
    return `The database is damaged; the process stops. ${rebuildHint}`
  }
  return isDamage(broken)
    ? "The journal is damaged; the process stops. The next start prints the last intact record and the remedy"
    : "The disk failed; the process stops. A restart recovers all acknowledged writes"
}

const logBroken = (broken: Broken): Effect.Effect<void> => {
  const { cause, operation } = broken
  const words = wordsOf(broken)
  return cause instanceof Defect
    ? Effect.annotateLogs(Effect.logFatal(words, Cause.die(cause.cause)), { operation })
    : Effect.annotateLogs(Effect.logFatal(words), { operation, cause: String(cause) })
}

/** Why a data directory could not be opened, for the operator. */
export const openFailure = (directory: string, error: StorageError | Fenced): CommandFailed => {
  if (error._tag === "Fenced") return commandFailed(exitCodes.unavailable, error.message)
  if (error._tag === "Unavailable") {
    return error.reason === "disk_full"
      ? commandFailed(exitCodes.cannotWrite, `No space left for the data directory ${directory}.`)
      : commandFailed(exitCodes.unavailable, error.message)
  }
  const words = error.cause instanceof Error ? error.cause.message : String(error.cause)
  // Of a class that is loaded in a cluster alone: PostgreSQL refused a statement, and says why.
  if (Predicate.isTagged(error.cause, "PgFailure")) {
    return commandFailed(exitCodes.unavailable, words)
  }
  if (error.cause instanceof Fenced) return commandFailed(exitCodes.unavailable, words)
  if (error.cause instanceof NoAddressSpace) return commandFailed(exitCodes.configuration, words)
  if (isInUse(error)) return commandFailed(exitCodes.inUse, words)
  if (error.cause instanceof OtherFormat) {
    return commandFailed(exitCodes.damagedData, `${words}. Nothing was changed.`)
  }
  if (error.cause instanceof DiskError && isUnreadable(error.cause)) {
    return unreadable(error.cause.path)
  }
  if (error.operation === "lock" || error.cause instanceof DiskError) {
    return cannotUse(directory, error.cause)
  }
  const more = error.cause instanceof DamagedValue ? `. ${rebuildHint}` : ""
  return commandFailed(
    exitCodes.damagedData,
    `The data directory ${directory} is damaged: ${words}${more}`,
  )
}

/** The same for an error that may have its words already. */
export const toCommandFailed = (
  { dataDirectory }: Config,
  error: StorageError | Fenced | CommandFailed,
): CommandFailed => (error._tag === "CommandFailed" ? error : openFailure(dataDirectory, error))
