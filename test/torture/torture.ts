/**
 * The real server under load, made to suffer in one way after the other. After every round it is started again
 * without trouble, and everything is compared with what was acknowledged: repeated, each request must be known and
 * have its first answer; and when what had no answer is settled, every user must have exactly the xp that was given.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Random } from "../simulation/random.ts"
import { createRule, insist, Load, readXp } from "./Client.ts"
import { type Fault, type FaultName, faultNames, faults, type Round } from "./faults.ts"
import { eventXp, Ledger } from "./Ledger.ts"
import { command, ServerProcess } from "./ServerProcess.ts"

export interface TortureOptions {
  readonly seed: number
  /** Ends after the round in which this time is over. */
  readonly durationMs: number
  /** These rounds in this order; without it, any. */
  readonly order?: ReadonlyArray<FaultName | Fault>
  readonly say: (line: string) => void
}

export interface Summary {
  readonly seed: number
  readonly rounds: number
  readonly sent: number
  readonly acknowledged: number
  readonly verified: number
  readonly kills: number
  readonly faults: Readonly<Record<string, number>>
  /** Acknowledged events that are gone, changed, or counted twice; in words. */
  readonly lost: ReadonlyArray<string>
}

const clients = 6
/** Repeating goes faster with many at once. */
const verifiers = 16

/** Runs over `items` with a few at once. */
const each = async <A>(items: ReadonlyArray<A>, use: (item: A) => Promise<void>): Promise<void> => {
  let next = 0
  const one = async () => {
    while (next < items.length) await use(items[next++]!)
  }
  await Promise.all(Array.from({ length: verifiers }, one))
}

export const check = async (server: ServerProcess, key: string, ledger: Ledger): Promise<void> => {
  await each(ledger.round, async (sent) => {
    const answer = await insist(server, key, sent)
    if (answer === undefined) throw new Error(`The server ended:\n${server.stderr}`)
    if (sent.acknowledged === undefined) ledger.acknowledge(sent, answer.ids)
    else ledger.verify(sent, answer.ids, answer.repeated)
  })
  ledger.verifyTotals(await readXp(server, key))
  ledger.endRound()
}

const startWell = async (directory: string): Promise<ServerProcess> => {
  const server = await ServerProcess.serve(directory)
  if (server.hasEnded) throw new Error(`The server did not start:\n${server.stderr}`)
  return server
}

export const torture = async (options: TortureOptions): Promise<Summary> => {
  const { durationMs, order, say, seed } = options
  const random = new Random(seed)
  const ledger = new Ledger()
  const struck: Record<string, number> = {}
  let kills = 0
  let rounds = 0
  const endsAt = performance.now() + durationMs
  const directory = await mkdtemp(join(tmpdir(), "laurel-torture-"))
  let server = await startWell(directory)
  try {
    const key = await firstKey(directory)
    await createRule(server, key, eventXp)
    await server.end("SIGTERM")
    while (order === undefined ? performance.now() < endsAt : rounds < order.length) {
      const chosen = order?.[rounds] ?? random.pick(faultNames)
      const [name, fault]: readonly [FaultName, Fault] =
        typeof chosen === "string" ? [chosen, faults[chosen]] : ["kill -9 at a step", chosen]
      server = await ServerProcess.serve(directory, fault.trouble?.(random))
      const round: Round = { directory, random, server }
      let words = `${/torture: (.*)/.exec(server.stderr)?.[1]}, before it was ready`
      if (!server.hasEnded) {
        const load = new Load(server, key, ledger, random, clients)
        try {
          words = await fault.strike(round)
        } finally {
          if (!server.hasEnded) await server.end("SIGKILL")
          await load.stop()
        }
      }
      if ((await server.ended) === "SIGKILL") kills++
      if (fault.after !== undefined) words += `; ${await fault.after(round)}`
      server = await startWell(directory)
      const sent = ledger.round.length
      await check(server, key, ledger)
      const end = await server.end(random.pick(["SIGTERM", "SIGKILL"]))
      if (end === "SIGKILL") kills++
      else if (end !== 0) throw new Error(`The server ended with ${end}:\n${server.stderr}`)
      rounds++
      struck[name] = (struck[name] ?? 0) + 1
      say(`${rounds}. ${name}: ${words}; ${sent} requests, lost ${ledger.lost.length}`)
    }
    await command(["snapshots", "verify"], directory)
  } finally {
    if (!server.hasEnded) await server.end("SIGKILL")
    await rm(directory, { recursive: true, force: true })
  }
  const { acknowledged, lost, sent, verified } = ledger
  return { seed, rounds, sent, acknowledged, verified, kills, faults: struck, lost }
}

/** The first start keeps its key in a file. */
export const firstKey = async (directory: string): Promise<string> =>
  (await readFile(join(directory, "first-key"), "utf8")).trimEnd()
