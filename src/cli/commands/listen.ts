/**
 * `laurel listen`: forwards the messages of a key's environment to an address that webhooks cannot reach, such as a server on a
 * developer's machine. It follows the stream, so it needs neither a webhook nor a public address, and resumes after each cut and
 * restart of the server. Messages go one after another, in order; while the receiver is slow the server keeps the rest.
 */
import { Effect, Redacted, Result } from "effect"
import { Command, Flag } from "effect/cli"
import { LaurelError } from "../../client/LaurelError.ts"
import { follow, type StreamState } from "../../client/stream.ts"
import { secretKey } from "../../webhooks/send/Signature.ts"
import { forward } from "../listen/forward.ts"
import { parseTarget, secretFor } from "../listen/Target.ts"
import { CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { serverFlags } from "../process/ApiClient.ts"
import { firstSignal } from "../process/Signals.ts"

const forwardTo = Flag.String("forward-to").pipe(
  Flag.withMetavar("URL"),
  Flag.withDescription(
    "Receiver of the messages: a URL, HOST:PORT/PATH, or a port of this machine",
  ),
)

const event = Flag.String("event").pipe(
  Flag.withMetavar("KINDS"),
  Flag.withDescription(
    "Forward only these messages: kinds or families such as quest.*, comma-separated. Default: all",
  ),
  Flag.withDefault("*"),
)

interface Listening {
  readonly target: URL
  readonly kinds: string
  readonly url: string
  readonly key: string
}

const listenTo = async (
  { key, kinds, target, url }: Listening,
  signal: AbortSignal,
): Promise<void> => {
  const secret = secretFor(key)
  console.log(`Signing secret: ${secret} (always the same for this key)`)
  let state: "new" | "open" | "lost" = "new"
  const stream = new URL("/v1/stream", url)
  stream.searchParams.set("events", kinds)
  const open = (headers: Record<string, string>, attempt: AbortSignal): Promise<Response> =>
    fetch(stream, {
      headers: { ...headers, authorization: `Bearer ${key}` },
      redirect: "error",
      signal: attempt,
    })
  const onState = ({ kind }: StreamState): void => {
    if (kind === "open" && state !== "open") {
      const words = state === "new" ? "Ready" : "Connected again"
      console.log(`${words}: messages from ${url} go to ${target}`)
      state = "open"
    } else if (kind === "waiting" && state !== "lost") {
      console.log(`No connection to ${url}; trying again.`)
      state = "lost"
    }
  }
  const forwarding = { target, key: secretKey(secret), say: console.log, signal }
  while (!signal.aborted) {
    try {
      for await (const text of follow(open, { signal, onState })) await forward(text, forwarding)
    } catch (error) {
      if (!(error instanceof LaurelError)) throw error
      if (error.code !== "gone") throw refusedBy(error)
      console.log(`${url} no longer has the messages after the last one; new ones follow.`)
    }
  }
}

/** Ends when nobody reads the output any more: without it the command says nothing of what it does. */
const readerGone: Effect.Effect<void> = Effect.callback((resume) => {
  const end = () => resume(Effect.void)
  process.stdout.on("error", end)
  return Effect.sync(() => process.stdout.off("error", end))
})

const refusedBy = ({ code, errors, message }: LaurelError): CommandFailed =>
  code === "invalid_request"
    ? commandFailed(exitCodes.usage, ...errors.map(({ detail }) => `--event ${detail}`))
    : commandFailed(exitCodes.refused, message)

export const listen = Command.make(
  "listen",
  { forwardTo, event, ...serverFlags },
  Effect.fnUntraced(function* ({ event, forwardTo, key, url }) {
    const target = parseTarget(forwardTo)
    if (Result.isFailure(target)) {
      return yield* commandFailed(exitCodes.usage, `--forward-to ${target.failure}`)
    }
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
      return yield* commandFailed(exitCodes.usage, "--url must be an http or https URL")
    }
    const asked = { target: target.success, kinds: event, url, key: Redacted.value(key) }
    const listening = Effect.tryPromise({
      try: (signal) => listenTo(asked, signal),
      catch: (error) =>
        error instanceof CommandFailed ? error : commandFailed(exitCodes.defect, String(error)),
    })
    yield* Effect.raceFirst(listening, Effect.raceFirst(firstSignal, readerGone))
  }),
).pipe(
  Command.withShortDescription("Forward messages to a receiver on this machine"),
  Command.withDescription(
    "Forward the messages of a key's environment to a receiver, signed as webhooks are, with a secret that the command prints. Each message is a line with its status. Without a reply a message is sent again, three times in all. Ends with Ctrl+C.",
  ),
  Command.withExamples([
    {
      command: "laurel listen --forward-to localhost:3000/webhooks --event 'xp.earned,quest.*'",
      description: "Forward two kinds of messages to a server under development",
    },
  ]),
)
