/** The servers that are measured beside each other: Laurel, bare `node:http`, and the peers. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { pathToFileURL } from "node:url"
import { startProcess } from "./children.ts"
import { fill } from "./fill.ts"
import { checkTotal, startLaurel } from "./laurel.ts"
import { writePages } from "./load/deviceWrites.ts"
import { hasProc } from "./load/family.ts"
import type { Target } from "./load/wrk.ts"
import type { BenchOptions, Variant } from "./options.ts"
import { peers } from "./peers.ts"
import type { HttpServerOptions } from "./processes/httpServer.ts"
import type { Stored, Subject } from "./Subject.ts"

/**
 * Laurel, or the server that the options name: the cost and the events of the latter are not
 * measured.
 */
export const startLaurelSubject = async (target: Target | undefined): Promise<Subject> => {
  if (target !== undefined) {
    const nothing = () => {}
    const controls = { pause: nothing, resume: nothing, stop: async () => {} }
    const check = async () => {}
    return { ...controls, name: "the server", isLaurel: true, answer: target, roots: [], check }
  }
  const laurel = await startLaurel()
  return {
    ...laurel,
    name: "Laurel",
    isLaurel: true,
    roots: [laurel.pid],
    check: (answered, unread) => checkTotal(laurel, answered, unread),
  }
}

/**
 * A server of another checkout or with other settings. Its own bench starts it, so the data
 * directory, the key and the check of the total are in the form of its version.
 */
export const startVariant = async (
  { checkout, name, settings }: Variant,
  folder = mkdtempSync(path.join(tmpdir(), "laurel-bench-")),
): Promise<Subject> => {
  const module = path.join(checkout ?? path.dirname(import.meta.dirname), "bench/laurel.ts")
  const bench = (await import(pathToFileURL(module).href)) as Pick<
    typeof import("./laurel.ts"),
    "checkTotal" | "startLaurel"
  >
  const laurel = await bench.startLaurel({ directory: path.join(folder, "data"), settings })
  return {
    ...laurel,
    name,
    isLaurel: true,
    roots: [laurel.pid],
    stop: async () => {
      await laurel.stop()
      rmSync(folder, { recursive: true, force: true })
    },
    check: (answered, unread) => bench.checkTotal(laurel, answered, unread),
  }
}

/** Parses each body and answers the bytes of a reply. */
export const bareSubject = async (reply: string): Promise<Subject> => {
  const options: HttpServerOptions = { kind: "bare", reply }
  const bare = await startProcess<{ readonly port: number }>("httpServer", options)
  return {
    ...bare,
    name: "bare node:http",
    answer: { ...bare.answer, key: "none" },
    roots: [bare.pid],
    check: async () => {},
  }
}

/** Starts the peers that can run here; names the others. */
const startPeers = async (): Promise<ReadonlyArray<Stored>> => {
  const started: Array<Stored> = []
  for (const peer of Object.values(peers)) {
    if ("missing" in peer) console.error(peer.missing)
    else started.push(await peer.start())
  }
  return started
}

/**
 * Suspends all but one of `all`, so that their work does not fall into its round. The pages that
 * they have changed are written before: the kernel would write them in another's round.
 */
export const alone = async <A>(
  one: Subject,
  all: ReadonlyArray<Subject>,
  use: () => Promise<A>,
): Promise<A> => {
  if (all.length > 1) {
    for (const each of all) each.pause()
    if (hasProc) await writePages(tmpdir())
    one.resume()
  }
  // A process that continues first looks at what is late.
  await sleep(100)
  try {
    return await use()
  } finally {
    for (const each of all) each.resume()
  }
}

/** A reply of Laurel, which the bare server gives to each request. */
export const replyOf = async (
  { answer }: Subject,
  path: string,
  body?: unknown,
): Promise<string> => {
  const { host = "127.0.0.1", key, port } = answer
  const reply = await fetch(`http://${host}:${port}${path}`, {
    ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
  })
  if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`)
  return reply.text()
}

export interface SubjectOptions extends BenchOptions {
  /** Each of them has one event at the start. */
  readonly users: number
  /** They take part by default. */
  readonly withPeers?: boolean
  /** A request whose reply the bare server gives. */
  readonly example: { readonly path: string; readonly body?: unknown; readonly events: number }
}

/**
 * Runs `use` with Laurel, bare `node:http`, the variants and the peers, in this order. `filled` are
 * the events that a subject has.
 */
export const withSubjects = async <A>(
  { alone = false, example, target, users, variants = [], withPeers = true }: SubjectOptions,
  use: (subjects: ReadonlyArray<Subject>, filled: (subject: Subject) => number) => Promise<A>,
): Promise<A> => {
  const laurel = await startLaurelSubject(target)
  const subjects = [laurel]
  try {
    await fill(laurel.answer, users)
    const reply = await replyOf(laurel, example.path, example.body)
    if (!alone) subjects.push(await bareSubject(reply))
    for (const variant of variants) {
      const subject = await startVariant(variant)
      subjects.push(subject)
      await fill(subject.answer, users)
    }
    if (target === undefined && withPeers && !alone) {
      for (const peer of await startPeers()) {
        subjects.push(peer)
        await peer.load(users)
        await peer.settle()
      }
    }
    return await use(subjects, (subject) => users + (subject === laurel ? example.events : 0))
  } finally {
    for (const subject of subjects) await subject.stop()
  }
}
