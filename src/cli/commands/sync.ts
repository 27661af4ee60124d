/** `laurel sync postgres`: a copy of an environment in PostgreSQL that follows the server. */
import { Config, Console, Effect, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { createLaurel } from "../../client/index.ts"
import { LaurelError } from "../../client/LaurelError.ts"
import { pause } from "../../client/limit.ts"
import { commandVariables } from "../../config/Config.ts"
import { limits } from "../../Limits.ts"
import { CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { amountOf, countText } from "../output/Table.ts"
import { serverFlags } from "../process/ApiClient.ts"
import { firstSignal } from "../process/Signals.ts"
import type { BoardsCopy } from "../sync/BoardsCopy.ts"
import type { PostgresCopy } from "../sync/PostgresCopy.ts"

const to = Flag.Redacted("to").pipe(
  Flag.withMetavar("URL"),
  Flag.withDescription(
    `Address of the database, such as postgres://user:password@host/database. Default: ${commandVariables.syncTo}, which other users cannot read`,
  ),
  Flag.withFallbackConfig(Config.Redacted(commandVariables.syncTo)),
)

const schema = Flag.String("schema").pipe(
  Flag.withMetavar("NAME"),
  Flag.withDescription("Schema of the tables, which the command creates. Default: laurel"),
  Flag.withDefault("laurel"),
)

const once = Flag.Boolean("once").pipe(
  Flag.withDescription("End when the copy has all facts. Default: follow the server until Ctrl+C"),
  Flag.withDefault(false),
)

const reset = Flag.Boolean("reset").pipe(
  Flag.withDescription("First delete what the schema has of the environment, and copy all of it"),
  Flag.withDefault(false),
)

const boardEntries = Flag.Int("board-entries").pipe(
  Flag.withMetavar("N"),
  Flag.withDescription(
    `How many entries of each window of a leaderboard are copied, best rank first; 0: no leaderboards. Default: ${countText(limits.syncBoardEntriesDefault)}`,
  ),
  Flag.withDefault(limits.syncBoardEntriesDefault),
)

interface Options {
  readonly boardEntries: number
  readonly to: string
  readonly schema: string
  readonly once: boolean
  readonly url: string
  readonly key: string
}

/** A refusal ends the command; anything else may pass, so it is tried again. */
const refusalOf = (error: unknown): CommandFailed | undefined => {
  if (error instanceof CommandFailed) return error
  if (!(error instanceof LaurelError)) return undefined
  if (error.code === "gone") {
    return commandFailed(
      exitCodes.refused,
      "The server no longer has what follows the last fact of the copy, or was restored to a time before it.",
      "With --reset the command deletes the copy of this environment and makes it again.",
    )
  }
  const passes = error.status === 0 || error.status === 429 || error.status >= 500
  return passes ? undefined : commandFailed(exitCodes.refused, error.message)
}

// The library of PostgreSQL is loaded by this command alone.
const load = async () => {
  const [connection, copies, boards, tables] = await Promise.all([
    import("../../storage/postgres/PgConnection.ts"),
    import("../sync/PostgresCopy.ts"),
    import("../sync/BoardsCopy.ts"),
    import("../sync/tables.ts"),
  ])
  return { ...connection, ...copies, ...boards, ...tables }
}

/** The same for the other errors: those of PostgreSQL, and defects. */
const refusalOfPostgres = async (error: unknown): Promise<CommandFailed | undefined> => {
  const { failureOf, NewerForm, OtherCopy } = await load()
  if (error instanceof LaurelError) return undefined
  if (error instanceof NewerForm || error instanceof OtherCopy) {
    return commandFailed(exitCodes.refused, error.message)
  }
  if (error instanceof TypeError || error instanceof RangeError) throw error
  const { isOutage, isRefusal, words } = failureOf(error)
  if (isRefusal) return commandFailed(exitCodes.configuration, words)
  return isOutage ? undefined : commandFailed(exitCodes.refused, words)
}

class Sync {
  readonly #options: Options
  readonly #signal: AbortSignal
  readonly #laurel: ReturnType<typeof createLaurel>
  #reset: boolean
  #facts = 0

  constructor(options: Options, reset: boolean, signal: AbortSignal) {
    this.#options = options
    this.#reset = reset
    this.#signal = signal
    this.#laurel = createLaurel({ url: options.url, key: options.key })
  }

  /** Copies until the signal aborts; with `once` until the copy has all facts. */
  async run(): Promise<void> {
    while (!this.#signal.aborted) {
      try {
        if (await this.#session()) return
      } catch (error) {
        const refusal = refusalOf(error) ?? (await refusalOfPostgres(error))
        if (refusal !== undefined) throw refusal
        const { message } = error as Error
        if (this.#options.once) throw commandFailed(exitCodes.unavailable, message)
        console.error(`${message}; trying again.`)
        await pause(limits.syncRetryMs, this.#signal)
      }
    }
  }

  /** One connection to PostgreSQL. Returns whether the copy is done. */
  async #session(): Promise<boolean> {
    const { BoardsCopy, migrate, newClient, PostgresCopy } = await load()
    const { environment, id } = await this.#laurel.project.get()
    const client = newClient(this.#options.to, { application_name: "laurel sync" })
    const lost = new Promise<never>((_, reject) => client.on("error", reject))
    lost.catch(() => {})
    try {
      await client.connect()
      await migrate(client, this.#options.schema)
      const place = { project: id, environment }
      const copy = new PostgresCopy(client, this.#laurel, place)
      const boards = new BoardsCopy(client, this.#laurel, place, this.#options.boardEntries)
      if (this.#reset) await copy.reset()
      this.#reset = false
      return await Promise.race([this.#follow(copy, boards), lost])
    } finally {
      await client.end().catch(() => {})
    }
  }

  async #follow(copy: PostgresCopy, boards: BoardsCopy): Promise<boolean> {
    while (!this.#signal.aborted) {
      const { facts, hasMore, through } = await copy.round()
      this.#facts += facts
      if (facts > 0) {
        console.log(`Copied ${amountOf(facts, "fact")}, up to record ${countText(through)}.`)
      }
      if (hasMore) continue
      const deleted = await copy.compare(limits.syncCompareEveryMs)
      if (deleted)
        console.log(`Deleted ${amountOf(deleted, "user")} whom the server does not have.`)
      if (this.#options.boardEntries > 0) {
        const every = this.#options.once ? 0 : limits.syncBoardsEveryMs
        const windows = await boards.round(every)
        if (windows) console.log(`Copied ${amountOf(windows, "window")} of leaderboards.`)
      }
      if (this.#options.once) {
        console.log(`The copy is complete: ${amountOf(this.#facts, "new fact")}.`)
        return true
      }
      await pause(limits.syncPauseMs, this.#signal)
    }
    return true
  }
}

const postgres = Command.make(
  "postgres",
  { to, schema, once, reset, boardEntries, ...serverFlags },
  Effect.fnUntraced(function* ({ key, reset, to, ...given }) {
    const options = { ...given, to: Redacted.value(to), key: Redacted.value(key) }
    const { syncBoardEntriesMax } = limits
    if (options.boardEntries < 0 || options.boardEntries > syncBoardEntriesMax) {
      return yield* commandFailed(
        exitCodes.usage,
        `--board-entries must be from 0 to ${countText(syncBoardEntriesMax)}.`,
      )
    }
    if (!/^postgres(ql)?:\/\//.test(options.to)) {
      return yield* commandFailed(
        exitCodes.usage,
        "--to must be an address such as postgres://user:password@host/database.",
      )
    }
    yield* Console.error(`Server: ${options.url}`)
    const stopped = new AbortController()
    const running = Effect.tryPromise({
      try: () => new Sync(options, reset, stopped.signal).run(),
      catch: (error) =>
        error instanceof CommandFailed ? error : commandFailed(exitCodes.defect, String(error)),
    })
    const stop = Effect.andThen(
      firstSignal,
      Effect.sync(() => stopped.abort()),
    )
    // The round in progress ends before the command does.
    yield* Effect.raceFirst(running, Effect.andThen(stop, Effect.never))
  }),
).pipe(
  Command.withShortDescription(
    "Copy facts, users, balances and leaderboards into PostgreSQL, and follow",
  ),
  Command.withDescription(
    "Copy the facts of all histories, the users with their balances and the leaderboards of the key's environment into tables of a PostgreSQL, and keep them up to date. Each fact is there once, whatever crashes; the command goes on where it ended. A key with the scope read is enough. Ends with Ctrl+C.",
  ),
  Command.withExamples([
    {
      command: "laurel sync postgres --to postgres://warehouse.internal/analytics",
      description: "Follow the server of LAUREL_URL with the key of LAUREL_KEY",
    },
  ]),
)

export const sync = Command.make("sync").pipe(
  Command.withShortDescription("Keep a copy of an environment elsewhere"),
  Command.withDescription("Keep a copy of an environment in another database, for a warehouse."),
  Command.withSubcommands([postgres]),
)
