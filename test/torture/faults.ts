/** The faults of a round of the torture: each is carried out under load and reports its outcome. */
import { setTimeout as delay } from "node:timers/promises"
import type { Random } from "../simulation/random.ts"
import { flipBit, tearTail } from "./damage.ts"
import type { Call, Plan } from "./hook.ts"
import { command, type End, ServerProcess, type Trouble } from "./ServerProcess.ts"

export interface Round {
  readonly directory: string
  readonly random: Random
  readonly server: ServerProcess
}

export interface Fault {
  /** With what the server of the round is started. */
  readonly trouble?: (random: Random) => Trouble
  /** While the load runs; afterwards the load stops. Returns what happened. */
  readonly strike: (round: Round) => Promise<string>
  /** Between the end of this server and the start of the next. */
  readonly after?: (round: Round) => Promise<string>
}

const expectEnd = (server: ServerProcess, end: End, expected: End): void => {
  if (end !== expected) {
    throw new Error(`The server ended with ${end}, not ${expected}:\n${server.stderr}`)
  }
}

/** In order or at once. */
const endSomehow = async (server: ServerProcess, random: Random): Promise<void> => {
  const signal = random.pick(["SIGTERM", "SIGKILL"] as const)
  expectEnd(server, await server.end(signal), signal === "SIGTERM" ? 0 : signal)
}

const someTime = (random: Random): Promise<void> => delay(random.integer(100, 1_500))

const kill: Fault["strike"] = async ({ random, server }) => {
  await someTime(random)
  expectEnd(server, await server.end("SIGKILL"), "SIGKILL")
  return "killed"
}

/** Steps of commit, new segments, archives; by path and call. */
const steps: ReadonlyArray<readonly [Plan["role"], Call, string, number]> = [
  ["server", "writev", "/journal/", 200],
  ["server", "fdatasync", "/journal/", 3],
  ["server", "open", "/journal/", 3],
  ["server", "unlink", "/journal/", 1],
  ["worker", "open", "/archive/", 3],
  ["worker", "writev", "/archive/", 3],
  ["worker", "fdatasync", "/archive/", 3],
  ["worker", "fsync", "/archive/", 3],
  ["worker", "rename", "/archive/", 1],
]

const planAt = (random: Random, effects: ReadonlyArray<Plan["effect"]>, forMs: number): Plan => {
  const effect = random.pick(effects)
  const possible = steps.filter(
    ([role, call]) => effect !== "no space" || (role === "server" && call === "writev"),
  )
  const [role, call, path, most] = random.pick(possible)
  return { role, call, path, nth: random.integer(1, most), effect, forMs }
}

const archive = async ({ directory, server }: Round): Promise<string> => {
  const creating = new ServerProcess(["snapshots", "create"], directory)
  const end = await creating.ended
  return server.hasEnded ? "archive cut off" : `archive: ${end}`
}

const killAtStep = (plan: (random: Random) => Plan): Fault => ({
  trouble: (random) => ({ plan: plan(random) }),
  strike: async (round) => {
    const { server } = round
    const [archived] = await Promise.all([archive(round), Promise.race([server.ended, delay(500)])])
    const step = /torture: (.*)/.exec(server.stderr)?.[1]
    if (!server.hasEnded) return `${step ?? "not reached"}; ${archived}; ${await kill(round)}`
    expectEnd(server, await server.ended, "SIGKILL")
    return step ?? "killed"
  },
})

/** The first of each step and one under load, before and after: what `--steps` goes through, in order. */
export const everyStep: ReadonlyArray<Fault> = steps.flatMap(([role, call, path, most]) =>
  [...new Set([1, Math.min(most, 30)])].flatMap((nth) =>
    (["kill before", "kill after"] as const).map((effect) =>
      killAtStep(() => ({ role, call, path, nth, effect, forMs: 0 })),
    ),
  ),
)

/** Longer than callers of a stalled commit wait for their answer. */
const fullMs = 1_500

export const faults = {
  "kill -9": { strike: kill },
  "kill -9 at a step": killAtStep((random) => planAt(random, ["kill before", "kill after"], 0)),
  "torn journal tail": {
    strike: kill,
    after: async ({ directory, random }) => {
      return (await tearTail(directory, random)) ?? "nothing to tear"
    },
  },
  "flipped bit in the journal": {
    strike: kill,
    after: async ({ directory, random }) => {
      const flip = await flipBit(directory, random)
      if (flip === undefined) return "nothing to flip"
      const server = await ServerProcess.serve(directory)
      const refused = server.hasEnded
      if (refused) expectEnd(server, await server.ended, 65)
      else await server.end("SIGKILL")
      await flip.undo()
      return `${flip.words}: ${refused ? "refused" : "served"}`
    },
  },
  "disk full, then space": {
    trouble: (random) => ({ plan: planAt(random, ["no space"], fullMs) }),
    strike: async ({ random, server }) => {
      const reached = await Promise.race([
        server.heard(/torture: no space/),
        delay(3_000).then(() => false),
      ])
      if (reached) await server.heard(/Disk space recovered/)
      await someTime(random)
      expectEnd(server, await server.end("SIGTERM"), 0)
      return reached ? "went on by itself" : "not reached"
    },
  },
  "event loop stalls": {
    strike: async ({ random, server }) => {
      for (let stall = 0; stall < 3; stall++) {
        await delay(random.integer(50, 300))
        server.process.kill("SIGSTOP")
        await delay(random.integer(100, 1_000))
        server.process.kill("SIGCONT")
      }
      expectEnd(server, await server.end("SIGKILL"), "SIGKILL")
      return "3 stalls"
    },
  },
  "clock jumps": {
    trouble: () => ({ clock: { jumpMs: 3_600_000, everyMs: 50 } }),
    strike: async ({ random, server }) => {
      await someTime(random)
      await endSomehow(server, random)
      return "jumped"
    },
  },
  "second server on the directory": {
    strike: async ({ directory, random, server }) => {
      const second = await ServerProcess.serve(directory)
      if (!second.hasEnded) {
        await second.end("SIGKILL")
        throw new Error("Two servers run on one directory")
      }
      expectEnd(second, await second.ended, 75)
      await endSomehow(server, random)
      return "refused"
    },
  },
  "archive, then stop": {
    strike: async (round) => {
      const archived = await archive(round)
      expectEnd(round.server, await round.server.end("SIGTERM"), 0)
      await command(["snapshots", "verify"], round.directory)
      return `${archived}, verified`
    },
  },
} as const satisfies Record<string, Fault>

export type FaultName = keyof typeof faults
export const faultNames = Object.keys(faults) as ReadonlyArray<FaultName>
