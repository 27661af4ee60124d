/**
 * Commands to the directory from runners that do not own partition 1. The runner posts the command
 * to the internal port of the owner, which replies once the change is published. The runner replies
 * to its own caller once its copy has the change.
 *
 * A command is sent again only if it was certainly not executed: the owner refused the connection,
 * or is no longer the owner. After a lost reply the outcome is unknown, because a second attempt
 * could create a key twice.
 */
import { Cause, Effect, Exit, Result } from "effect"
import type { DirectoryCommand } from "../domain/decide/Directory.ts"
import type { JournalRecord } from "../domain/record/Record.ts"
import { type LaurelError, laurelError } from "../domain/values/Errors.ts"
import { outcomeUnknown } from "../engine/actor/Actor.ts"
import type { Engine } from "../engine/Engine.ts"
import { parseBody, readBody } from "../http/body/Body.ts"
import { type RequestHandler, unwatched } from "../http/request/Exchange.ts"
import { limits } from "../Limits.ts"
import type { DirectoryCopy } from "./DirectoryCopy.ts"
import type { DirectoryPublisher } from "./DirectoryTable.ts"
import { directoryPartition } from "./DirectoryTable.ts"
import type { OwnerConnections } from "./Forward.ts"
import { noOwner } from "./Forward.ts"
import { internalHeaders } from "./InternalPort.ts"
import type { Owners } from "./Owners.ts"

/** A change that is published, so that all runners can read it. */
export interface PublishedChange {
  readonly record: JournalRecord
  /** The sequence of the last record in the published directory. */
  readonly published: number
}

type Reply = { readonly change: PublishedChange } | { readonly refusal: LaurelError }

/** Executes commands of other runners. The internal port has authenticated them. */
export const directoryHandler = (
  ask: (command: DirectoryCommand) => Effect.Effect<PublishedChange, LaurelError>,
): Effect.Effect<RequestHandler> =>
  Effect.map(Effect.context<never>(), (context) => {
    const runFork = Effect.runForkWith(context)
    return {
      ...unwatched,
      handle: (exchange) => {
        const reply = (body: Reply) => exchange.reply(200, "application/json", JSON.stringify(body))
        exchange.askForBody()
        readBody(exchange.request, limits.recordBytesMax, (body) => {
          const command = Result.flatMap(body, parseBody)
          if (Result.isFailure(command)) {
            exchange.refuse(command.failure)
            return
          }
          const answer = Effect.exit(ask(command.success as DirectoryCommand)).pipe(
            Effect.flatMap((exit) => {
              if (Exit.isSuccess(exit)) return Effect.sync(() => reply({ change: exit.value }))
              const refused = Cause.findError(exit.cause)
              if (Result.isSuccess(refused)) {
                return Effect.sync(() => reply({ refusal: refused.success }))
              }
              exchange.refuse(defect)
              return Effect.logError("A command to the directory failed", exit.cause)
            }),
          )
          runFork(answer)
        })
      },
    }
  })

const defect = laurelError("internal_error", "The command to the directory failed.")

export interface DirectoryCommandsOptions {
  readonly owners: Pick<Owners, "of" | "renew" | "changed">
  readonly connections: OwnerConnections
  readonly secret: string
  readonly copy: Pick<DirectoryCopy, "has">
}

/** The owner has certainly not executed the command. */
class NotTaken extends Error {}

const notSent = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"])

export class DirectoryCommands {
  readonly #options: DirectoryCommandsOptions

  constructor(options: DirectoryCommandsOptions) {
    this.#options = options
  }

  /** Sends the command to the owner of partition 1, and ends once the local copy has the change. */
  readonly ask = (command: DirectoryCommand): Effect.Effect<JournalRecord, LaurelError> =>
    Effect.gen({ self: this }, function* () {
      // An engine that closes records the last uses of keys. They are not worth a wait: when the
      // whole cluster stops, there is no owner to wait for.
      const waitMs = command.kind === "useKeys" ? 0 : limits.ownerWaitMs
      const reply = yield* this.#post(JSON.stringify(command), waitMs)
      if ("refusal" in reply) return yield* Effect.fail(reply.refusal)
      const { published, record } = reply.change
      yield* this.#options.copy.has(published)
      return record
    })

  #post(body: string, waitMs: number): Effect.Effect<Reply, LaurelError> {
    return Effect.gen({ self: this }, function* () {
      const { owners } = this.#options
      const deadline = performance.now() + waitMs
      while (true) {
        const owner = owners.of(directoryPartition)
        if (owner !== undefined && owner.address !== "") {
          const sent = yield* Effect.result(
            Effect.tryPromise({
              try: (signal) => this.#send(owner.address, body, signal),
              catch: (error) => error,
            }),
          )
          if (Result.isSuccess(sent)) return sent.success
          if (!(sent.failure instanceof NotTaken)) return yield* Effect.fail(outcomeUnknown)
          void owners.renew()
        }
        if (performance.now() >= deadline) return yield* Effect.fail(noOwner)
        yield* Effect.promise(() => owners.changed(limits.ownerAvoidedMs))
      }
    })
  }

  /** Rejects with `NotTaken` if the owner has certainly not executed the command. */
  async #send(address: string, body: string, signal: AbortSignal): Promise<Reply> {
    const { connections, secret } = this.#options
    try {
      const reply = await connections.to(address, false).request({
        path: "/",
        method: "POST",
        headers: {
          "content-type": "application/json",
          [internalHeaders.secret]: secret,
          [internalHeaders.partition]: String(directoryPartition),
          [internalHeaders.directory]: "1",
        },
        body,
        signal,
        headersTimeout: 2 * limits.directoryPublishedMs,
      })
      const text = await reply.body.text()
      if (reply.headers[internalHeaders.notOwner] !== undefined) throw new NotTaken()
      if (reply.statusCode !== 200) throw new Error(`status ${reply.statusCode}`)
      return JSON.parse(text) as Reply
    } catch (error) {
      throw notSent.has((error as { readonly code?: string }).code ?? "") ? new NotTaken() : error
    }
  }
}

/*
 * The engines of a cluster, whose directory is that of the cluster. Callers read and change the
 * directory in the same way in every partition. The engine of partition 1 has the directory, and
 * replies to a change once it is published. The engines of other partitions read the copy, and send
 * commands to the owner of partition 1.
 */

type EngineService = Engine["Service"]

/** Changes the directory in the engine of partition 1. Ends once the change is published. */
export const askPublished =
  (engine: EngineService, publisher: Pick<DirectoryPublisher, "published">) =>
  (command: Parameters<EngineService["askDirectory"]>[0]) =>
    Effect.gen(function* () {
      const record = yield* engine.askDirectory(command)
      const change: PublishedChange = {
        record,
        published: yield* publisher.published(record.sequence),
      }
      return change
    })

/** The engine of partition 1. */
export const publishing = (
  engine: EngineService,
  publisher: Pick<DirectoryPublisher, "published">,
): EngineService => {
  const ask = askPublished(engine, publisher)
  return { ...engine, askDirectory: (command) => Effect.map(ask(command), ({ record }) => record) }
}

/** The engine of another partition. */
export const copying = (
  engine: EngineService,
  copy: Pick<DirectoryCopy, "state">,
  commands: Pick<DirectoryCommands, "ask">,
): EngineService => ({
  ...engine,
  readDirectory: Effect.sync(() => copy.state),
  directoryNow: () => copy.state,
  askDirectory: commands.ask,
})
