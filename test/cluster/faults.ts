/**
 * The faults of the chaos matrix. Each is injected into a running cluster, and repaired afterwards.
 */
import { execFileSync } from "node:child_process"
import { constants } from "node:os"
import { setTimeout as delay } from "node:timers/promises"
import { exitCodes } from "../../src/cli/output/ExitCode.ts"
import type { Random } from "../simulation/random.ts"
import type { Postgres } from "../storage/postgres/Postgres.ts"
import type { LinkState } from "./Link.ts"
import type { Network } from "./Network.ts"
import { eventually, ownerOf, Runner } from "./Runner.ts"
import type { Cluster } from "./startCluster.ts"

export interface Scene {
  readonly cluster: Cluster
  readonly network: Network
  readonly postgres: Postgres
  readonly random: Random
  readonly expirationMs: number
  /** The one that the fault is about. */
  readonly partition: number
  /** The owner; while the partition moves, the runner that is to be the next one. */
  readonly owner: Runner
  /** Another runner; while the partition moves, the one that leaves. */
  readonly other: Runner
  /** The runner that the moment ends. */
  readonly leaving: Runner | undefined
}

export interface Fault {
  /** Injects the fault. */
  readonly strike: (scene: Scene) => Promise<void> | void
  /**
   * The duration in expirations. Without it, the fault lasts until callers are served again, or
   * until no runner can serve them.
   */
  readonly expirations?: number
  /** A runner that keeps running and cannot serve during the fault. */
  readonly disables?: Role
  /** Repairs the fault. */
  readonly heal: (scene: Scene) => Promise<void> | void
  /** Requires separate file systems. */
  readonly needsMount?: true
}

type Role = "owner" | "other"

/** The runners that a fault has left able to serve. */
export const ableIn = (scene: Scene, { disables }: Fault): ReadonlyArray<Runner> =>
  scene.cluster.runners.filter(
    (runner) =>
      runner.isRunning &&
      runner !== scene.leaving &&
      (disables === undefined || runner !== scene[disables]),
  )

const kill = (role: Role): Fault => ({
  strike: async (scene) => {
    await scene[role].kill()
  },
  heal: (scene) => scene[role].start(),
})

/** Of a SIGTERM after another one: the server ends at once. */
export const secondTermination = exitCodes.signal + constants.signals.SIGTERM

/** `leaving` has a SIGTERM already. */
const terminated = async (runner: Runner, leaving?: Runner): Promise<void> => {
  const end = await runner.end("SIGTERM")
  if (end === 0 || (runner === leaving && end === secondTermination)) return
  throw new Error(`SIGTERM ended with ${end}: ${runner.process.stderr}`)
}

const terminate = (role: Role): Fault => ({
  strike: (scene) => terminated(scene[role], scene.leaving),
  heal: (scene) => scene[role].start(),
})

/** Without PostgreSQL, for `role` alone. */
const cutOff = (role: Role, state: LinkState): Fault => ({
  strike: ({ network, ...scene }) => network.toPostgres(scene[role]).set(state),
  expirations: 2,
  disables: role,
  heal: ({ network, ...scene }) => network.toPostgres(scene[role]).set("open"),
})

const setAlone = ({ network, owner }: Scene, state: LinkState): void => {
  network.toPostgres(owner).set(state)
  network.setPeers(owner, state)
}

const isolate = (state: LinkState): Fault => ({
  strike: (scene) => setAlone(scene, state),
  expirations: 2,
  disables: "owner",
  heal: (scene) => setAlone(scene, "open"),
})

const stop = (role: Role): Fault => ({
  strike: (scene) => scene[role].signal("SIGSTOP"),
  expirations: 2.5,
  disables: role,
  heal: (scene) => scene[role].signal("SIGCONT"),
})

const apart = (state: LinkState): Fault => ({
  strike: ({ network, owner }) => network.setPeers(owner, state),
  expirations: 1,
  heal: ({ network, owner }) => network.setPeers(owner, "open"),
})

/**
 * Ends once the runner serves the partition, which it may have done before, or has failed to since.
 */
const tried = (runner: Runner, partition: number, since: number): Promise<true> => {
  const failed = new RegExp(`"Opening a partition failed.*"partition":${partition}\\b`)
  return eventually(`an opening of partition ${partition}`, async () => {
    const hasTried = runner.process.hasWritten(failed, since) || (await runner.serves(partition))
    return hasTried || undefined
  })
}

const hourMs = 3_600_000

/** A file system of its own makes a directory that can be full. */
const tmpfs = {
  mount: (folder: string): void => {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=8g,mode=700", "tmpfs", folder])
  },
  resize: (folder: string, size: string): void => {
    execFileSync("mount", ["-o", `remount,size=${size}`, folder], { stdio: "pipe" })
  },
  fill: (folder: string): void => {
    while (true) {
      const used = execFileSync("df", ["-k", "--output=used", folder], { encoding: "utf8" })
      try {
        // 0 would be no limit.
        tmpfs.resize(folder, `${Math.max(4, Number(used.split("\n")[1]))}k`)
        return
      } catch {
        // It has grown since.
      }
    }
  },
}

export const canMount = process.getuid?.() === 0 && process.platform === "linux"

/** Before its first start. */
export const ownFileSystem = (runner: Runner): void => tmpfs.mount(runner.directory)

export const removeFileSystem = (runner: Runner): void => {
  execFileSync("umount", ["--lazy", runner.directory])
}

/** What joined, or holds something, until the fault is taken back. */
const guests = new WeakMap<Scene, Runner>()
const undoings = new WeakMap<Scene, () => void>()

const undo = (scene: Scene): void => undoings.get(scene)?.()

const restart = (signal: NodeJS.Signals): Fault => ({
  strike: async ({ postgres }) => {
    await postgres.stop(signal)
    await postgres.start()
  },
  heal: () => {},
})

export const faults: Readonly<Record<string, Fault>> = {
  "kill -9 of the owner": kill("owner"),
  "kill -9 of another": kill("other"),
  "SIGTERM of the owner": terminate("owner"),
  "a runner leaves": terminate("other"),
  "two SIGTERMs at once": {
    strike: async ({ leaving, other, owner }) => {
      await Promise.all([owner, other].map((runner) => terminated(runner, leaving)))
    },
    heal: async ({ other, owner }) => {
      await Promise.all([owner.start(), other.start()])
    },
  },
  "kill -9 within the hand-over": {
    strike: async ({ owner, random }) => {
      owner.signal("SIGTERM")
      await delay(random.integer(0, 300))
      await owner.kill()
    },
    heal: ({ owner }) => owner.start(),
  },
  "SIGSTOP of the owner": stop("owner"),
  "SIGSTOP of another": stop("other"),
  "PostgreSQL restarts in order": restart("SIGINT"),
  "PostgreSQL crashes": restart("SIGQUIT"),
  "PostgreSQL away": {
    strike: ({ postgres }) => postgres.stop("SIGQUIT"),
    expirations: 2,
    heal: ({ postgres }) => postgres.start(),
  },
  "PostgreSQL stands still": {
    strike: async (scene) => {
      undoings.set(scene, await scene.postgres.freeze())
    },
    expirations: 2,
    heal: undo,
  },
  "PostgreSQL silent for the owner": cutOff("owner", "silent"),
  "PostgreSQL refuses the owner": cutOff("owner", "refused"),
  "PostgreSQL silent for another": cutOff("other", "silent"),
  "PostgreSQL 1 s late for the owner": {
    strike: ({ network, owner }) => {
      network.toPostgres(owner).delayMs = 1_000
    },
    expirations: 2,
    heal: ({ network, owner }) => {
      network.toPostgres(owner).delayMs = 0
    },
  },
  "PostgreSQL has no free connection": {
    strike: async (scene) => {
      undoings.set(scene, await scene.postgres.exhaust())
      // Who lost its sessions finds no new ones.
      const link = scene.network.toPostgres(scene.owner)
      link.set("refused")
      link.set("open")
    },
    expirations: 2,
    heal: undo,
  },
  "runners silent to each other": apart("silent"),
  "runners refuse each other": apart("refused"),
  "the owner isolated, silent": isolate("silent"),
  "the owner isolated, refused": isolate("refused"),
  "the owner's clock jumps": {
    strike: ({ owner, random }) => {
      owner.process.process.send?.(random.pick([-1, 1]) * random.integer(60_000, hourMs))
    },
    expirations: 1,
    heal: ({ owner }) => {
      owner.process.process.send?.(0)
    },
  },
  "the owner's disk full": {
    needsMount: true,
    strike: ({ owner }) => tmpfs.fill(owner.directory),
    expirations: 1,
    heal: async ({ owner }) => {
      tmpfs.resize(owner.directory, "8g")
      // Where it was about to take over, it has ended.
      if (!owner.isRunning) await owner.start()
    },
  },
  "the next owner's disk full": {
    needsMount: true,
    strike: async ({ cluster, leaving, other, owner, partition }) => {
      tmpfs.fill(other.directory)
      const { written } = other.process
      await owner.kill()
      const third = cluster.runners.filter(
        (runner) => runner !== owner && runner !== other && runner.isRunning,
      )
      // A follower without space may serve; where it cannot open the partition, it must not keep
      // it.
      if (third.length > 0) await ownerOf([other, ...third], partition)
      else if (other !== leaving) await tried(other, partition, written)
    },
    disables: "other",
    heal: async ({ leaving, other, owner }) => {
      tmpfs.resize(other.directory, "8g")
      if (other !== leaving && !other.isRunning) {
        throw new Error(`A full disk ended a runner: ${other.process.stderr}`)
      }
      await owner.start()
    },
  },
  "two runners with one address": {
    strike: async ({ owner }) => {
      const twin = await owner.twin()
      const started = await twin.start().then(
        () => true,
        () => false,
      )
      const end = started ? "a start" : await twin.process.ended
      await twin.remove()
      if (end !== 78) throw new Error(`A second runner with the address: ${end}`)
    },
    heal: () => {},
  },
  "a runner joins": {
    strike: async (scene) => {
      const guest = await Runner.make(scene.cluster.settings)
      guests.set(scene, guest)
      await guest.start()
    },
    expirations: 1,
    heal: async (scene) => {
      const guest = guests.get(scene)!
      await terminated(guest)
      await guest.remove()
    },
  },
}

export type FaultName = keyof typeof faults
