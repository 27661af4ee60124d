/** Commands to the directory on their way to partition 1's owner, over real internal ports. */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import {
  askPublished,
  copying,
  DirectoryCommands,
  directoryHandler,
  type PublishedChange,
  publishing,
} from "../../src/cluster/DirectoryCommands.ts"
import { OwnerConnections } from "../../src/cluster/Forward.ts"
import { listenInternally } from "../../src/cluster/InternalPort.ts"
import type { Owner } from "../../src/cluster/Owners.ts"
import type { DirectoryCommand } from "../../src/domain/decide/Directory.ts"
import { emptyDirectory } from "../../src/domain/project/Directory.ts"
import { laurelError } from "../../src/domain/values/Errors.ts"
import { outcomeUnknown } from "../../src/engine/actor/Actor.ts"
import type { RequestHandler } from "../../src/http/request/Exchange.ts"
import { startInMemory } from "../engine/fixture.ts"

const secret = "s".repeat(32)
const create = (name: string): DirectoryCommand => ({
  kind: "createProject",
  by: "operator",
  project: { id: `prj_${name}`, name },
  partitions: 3,
})

/** The internal port of a runner; `handler` carries out commands while it owns partition 1. */
const port = Effect.fnUntraced(function* (handler: () => RequestHandler | undefined) {
  const listener = yield* listenInternally({
    host: "127.0.0.1",
    port: 0,
    secret,
    graceMs: 0,
    handlerOf: () => undefined,
    adminOf: () => undefined,
    directoryOf: handler,
  })
  return `127.0.0.1:${(listener.server.address() as AddressInfo).port}`
})

/** A runner that sends its commands to `owners.owner`, and what it has waited for in its copy. */
const sender = Effect.fnUntraced(function* (as = secret) {
  const owners = {
    owner: undefined as Owner | undefined,
    waits: 0,
    of: () => owners.owner,
    renew: async () => {},
    changed: async () => {
      owners.waits++
      await new Promise((done) => setImmediate(done))
    },
  }
  const has: Array<number> = []
  const copy = { has: (sequence: number) => Effect.sync(() => void has.push(sequence)) }
  const connections = yield* Effect.acquireRelease(
    Effect.sync(() => new OwnerConnections()),
    (opened) => Effect.promise(() => opened.close()),
  )
  const commands = new DirectoryCommands({ owners, connections, secret: as, copy })
  return { commands, has, owners }
})

/** The first partition, whose directory is published as of a later record. */
const first = Effect.gen(function* () {
  const { close, engine } = yield* startInMemory()
  const published: Array<number> = []
  const publisher = {
    published: (sequence: number) =>
      Effect.sync(() => {
        published.push(sequence)
        return sequence + 100
      }),
  }
  return { close, engine, published, publisher }
})

describe("A command to the directory", () => {
  it.live("is carried out by the first partition, and answered once the copy here has it", () =>
    Effect.gen(function* () {
      const { close, engine, published, publisher } = yield* first
      const handler = yield* directoryHandler(askPublished(engine, publisher))
      const address = yield* port(() => handler)
      const { commands, has, owners } = yield* sender()
      owners.owner = { address, epoch: 1 }
      const record = yield* commands.ask(create("one"))
      const { projects, sequence } = yield* engine.readDirectory
      expect([...projects.keys()]).toEqual(["prj_one"])
      expect([record.sequence, published, has]).toEqual([sequence, [sequence], [sequence + 100]])
      const refusal = yield* Effect.flip(commands.ask(create("one")))
      expect(refusal).toEqual(yield* Effect.flip(engine.askDirectory(create("one"))))
      const faults = yield* Effect.flip(commands.ask(create("NO")))
      expect(faults).toMatchObject({ code: "invalid_request", errors: [{ pointer: "/name" }] })
      yield* close()
    }).pipe(Effect.scoped),
  )

  it.live("may have as many bytes as a record: the uses of thousands of keys", () =>
    Effect.gen(function* () {
      const seen: Array<DirectoryCommand> = []
      const done: PublishedChange = { record: { sequence: 7 } as never, published: 7 }
      const handler = yield* directoryHandler((command) => {
        seen.push(command)
        return Effect.succeed(done)
      })
      const { commands, owners } = yield* sender()
      owners.owner = { address: yield* port(() => handler), epoch: 1 }
      const uses = Array.from({ length: 11_000 }, (_, n): [string, number] => [
        `key_01a1${String(n).padStart(24, "0")}`,
        1_790_000_000_000 + n,
      ])
      const command = { kind: "useKeys", by: "server", uses } as unknown as DirectoryCommand
      yield* commands.ask(command)
      expect(seen).toEqual([command])
    }).pipe(Effect.scoped),
  )

  it.live("waits for an owner, and passes by one that is none any more", () =>
    Effect.gen(function* () {
      const done: PublishedChange = { record: { sequence: 7 } as never, published: 7 }
      const handler = yield* directoryHandler(() => Effect.succeed(done))
      const [former, address] = [yield* port(() => undefined), yield* port(() => handler)]
      const gone = yield* Effect.scoped(port(() => undefined))
      const { commands, owners } = yield* sender()
      const asking = yield* Effect.forkChild(commands.ask(create("one")))
      for (const owner of [
        undefined,
        { address: "", epoch: 1 },
        { address: former, epoch: 2 },
        { address: gone, epoch: 3 },
      ]) {
        owners.owner = owner
        const { waits } = owners
        while (owners.waits < waits + 2) {
          yield* Effect.promise(() => new Promise((next) => setImmediate(next)))
        }
        expect(asking.pollUnsafe()).toBeUndefined()
      }
      owners.owner = { address, epoch: 4 }
      expect(yield* Fiber.join(asking)).toEqual({ sequence: 7 })
    }).pipe(Effect.scoped),
  )

  it.live("that notes uses of keys waits for no owner", () =>
    Effect.gen(function* () {
      const { commands, owners } = yield* sender()
      const command: DirectoryCommand = { kind: "useKeys", used: [["key_1", 1]] }
      const former = { address: yield* port(() => undefined), epoch: 1 }
      for (const owner of [undefined, former]) {
        owners.owner = owner
        expect(yield* Effect.flip(commands.ask(command))).toMatchObject({ code: "starting" })
      }
      expect(owners.waits).toBe(0)
    }).pipe(Effect.scoped),
  )

  it.live("is not sent again once it may have been carried out", () =>
    Effect.gen(function* () {
      let requests = 0
      const cutting = yield* Effect.acquireRelease(
        Effect.promise(
          () =>
            new Promise<Server>((listening) => {
              const server = createServer(({ socket }) => {
                requests++
                socket.destroy()
              })
              server.listen(0, "127.0.0.1", () => listening(server))
            }),
        ),
        (server) => Effect.promise(() => new Promise((closed) => server.close(closed))),
      )
      const { commands, owners } = yield* sender()
      const { port: number } = cutting.address() as AddressInfo
      owners.owner = { address: `127.0.0.1:${number}`, epoch: 1 }
      expect(yield* Effect.flip(commands.ask(create("one")))).toEqual(outcomeUnknown)
      expect(requests).toBe(1)
      // The handler failed after it began.
      const failing = yield* directoryHandler(() => Effect.die(new Error("a defect")))
      owners.owner = { address: yield* port(() => failing), epoch: 2 }
      expect(yield* Effect.flip(commands.ask(create("one")))).toEqual(outcomeUnknown)
    }).pipe(Effect.scoped),
  )

  it.live("is for runners that know the secret alone", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const handler = yield* directoryHandler(() =>
        Effect.andThen(Deferred.succeed(begun, undefined), Effect.never),
      )
      const { commands, owners } = yield* sender("another")
      owners.owner = { address: yield* port(() => handler), epoch: 1 }
      expect(yield* Effect.flip(commands.ask(create("one")))).toEqual(outcomeUnknown)
      expect(Deferred.isDoneUnsafe(begun)).toBe(false)
    }).pipe(Effect.scoped),
  )
})

describe("The directory of an engine", () => {
  it.live("is the cluster's in each partition", () =>
    Effect.gen(function* () {
      const { close, engine, publisher, published } = yield* first
      const own = publishing(engine, publisher)
      const record = yield* own.askDirectory(create("one"))
      expect(published).toEqual([record.sequence])
      const refusal = laurelError("conflict", "no")
      const asked: Array<DirectoryCommand> = []
      const copy = { state: emptyDirectory }
      const other = copying(engine, copy, {
        ask: (command) => {
          asked.push(command)
          return Effect.fail(refusal)
        },
      })
      expect(yield* other.readDirectory).toBe(emptyDirectory)
      copy.state = yield* own.readDirectory
      expect((yield* other.readDirectory).projects.has("prj_one")).toBe(true)
      expect(yield* Effect.flip(other.askDirectory(create("two")))).toBe(refusal)
      expect(asked).toEqual([create("two")])
      yield* close()
    }),
  )
})
