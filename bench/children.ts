/**
 * Processes of a bench: the measured server, its reference and the load never share a heap or an
 * event loop.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { signalFamily } from "./load/family.ts"

const processFile = (name: string): string =>
  fileURLToPath(new URL(`processes/${name}.ts`, import.meta.url))

const firstMessage = async <Answer>(name: string, child: ChildProcess): Promise<Answer> => {
  const ended = once(child, "exit").then(([code, signal]) => {
    throw new Error(`bench/processes/${name}.ts ended early (${signal ?? `exit code ${code}`})`)
  })
  const [answer] = await Promise.race([once(child, "message"), ended])
  ended.catch(() => {})
  return answer
}

/** The input is a message, since arguments of a process are limited in size. */
const start = (
  name: string,
  input: unknown,
  nodeOptions: ReadonlyArray<string> = [],
): ChildProcess => {
  const child = fork(processFile(name), [], {
    execArgv: ["--expose-gc", ...nodeOptions],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  })
  child.send({ input })
  return child
}

/**
 * Runs a file of `processes/` to its end; resolves with its answer. Settling `over` sends it the
 * message to end (`onEnd`).
 */
export const inProcess = async <Answer>(
  name: string,
  input: unknown = null,
  over?: Promise<unknown>,
  nodeOptions?: ReadonlyArray<string>,
): Promise<Answer> => {
  const child = start(name, input, nodeOptions)
  const ended = once(child, "exit")
  const tell = () => void (child.connected && child.send("end"))
  over?.then(tell, tell)
  const answer = await firstMessage<Answer>(name, child)
  child.disconnect()
  await ended
  return answer
}

export interface Running<Answer> {
  readonly answer: Answer
  /** Suspends the process and all that descend from it, such as Laurel's jobs, until `resume`. */
  readonly pause: () => void
  readonly resume: () => void
  readonly stop: () => Promise<void>
}

/** Controls a child that runs until it is stopped. */
export const controls = (child: ChildProcess): Omit<Running<never>, "answer"> => ({
  pause: () => signalFamily(child.pid!, "SIGSTOP"),
  resume: () => signalFamily(child.pid!, "SIGCONT"),
  stop: async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, "exit")
    signalFamily(child.pid!, "SIGCONT")
    child.kill("SIGTERM")
    await ended
  },
})

/**
 * Starts a file of `processes/` that runs until `stop`; `ask` sends it a message and resolves with
 * its reply.
 */
export const startProcess = async <Answer>(
  name: string,
  input: unknown = null,
): Promise<Running<Answer> & { readonly ask: () => Promise<unknown>; readonly pid: number }> => {
  const child = start(name, input)
  const ask = async () => {
    child.send("ask")
    return (await once(child, "message"))[0]
  }
  return {
    answer: await firstMessage<Answer>(name, child),
    ask,
    pid: child.pid!,
    ...controls(child),
  }
}

/** In the process: calls back at the message to end. */
export const onEnd = (callback: () => void): void => {
  process.once("message", callback)
}

/** In the process: computes the answer to the input. */
export const answer = async <Input>(
  compute: (input: Input) => unknown | Promise<unknown>,
): Promise<void> => {
  const [input] = await once(process, "message")
  const computed = await compute(input.input)
  process.send!(computed)
}
