/**
 * An engine whose directory is the cluster's: callers read and change it by the same two verbs, whichever partition they are
 * in. The first partition's engine has it; a change is answered once it is published. Those of other partitions read the copy and
 * send their commands to the first.
 */
import { Effect } from "effect"
import type { Engine } from "../engine/Engine.ts"
import type { DirectoryCommands, PublishedChange } from "./DirectoryCommands.ts"
import type { DirectoryCopy } from "./DirectoryCopy.ts"
import type { DirectoryPublisher } from "./DirectoryPublisher.ts"

type EngineService = Engine["Service"]

/** Changes the directory of the first partition. */
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

/** The engine of the first partition. */
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
