/** The servers that are measured beside each other: Laurel, bare `node:http`, and the peers. */
import { setTimeout as sleep } from "node:timers/promises"
import { startProcess } from "./children.ts"
import { fill } from "./fill.ts"
import { checkTotal, startLaurel } from "./laurel.ts"
import type { Target } from "./load/wrk.ts"
import type { BenchOptions } from "./options.ts"
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
    return { ...controls, name: "the server", answer: target, roots: [], check: async () => {} }
  }
  const laurel = await startLaurel()
  return {
    ...laurel,
    name: "Laurel",
    roots: [laurel.pid],
    check: (answered, unread) => checkTotal(laurel, answered, unread),
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

/** Suspends all but one of `all`, so that their work does not fall into its round. */
export const alone = async <A>(
  one: Subject,
  all: ReadonlyArray<Subject>,
  use: () => Promise<A>,
): Promise<A> => {
  for (const each of all) if (each !== one) each.pause()
  one.resume()
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
 * Runs `use` with Laurel, bare `node:http` and the peers, in this order. `filled` are the events
 * that Laurel has.
 */
export const withSubjects = async <A>(
  { example, target, users, withPeers = true }: SubjectOptions,
  use: (subjects: ReadonlyArray<Subject>, filled: (subject: Subject) => number) => Promise<A>,
): Promise<A> => {
  const laurel = await startLaurelSubject(target)
  const subjects = [laurel]
  try {
    await fill(laurel.answer, users)
    subjects.push(await bareSubject(await replyOf(laurel, example.path, example.body)))
    if (target === undefined && withPeers) {
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
