/**
 * `laurel listen` forwards the messages of a key's environment to an address that webhooks cannot
 * reach, such as a server on a developer's machine. It follows the stream, so it needs neither a
 * webhook nor a public address. It resumes after an interruption and after a restart of the server.
 * Messages are sent one after another, in order; while the receiver is slow, the server keeps the
 * rest.
 */
import { createHmac, type KeyObject } from "node:crypto"
import { Effect, Redacted, Result } from "effect"
import { Command, Flag } from "effect/cli"
import { LaurelError } from "../../client/LaurelError.ts"
import { pause } from "../../client/limit.ts"
import { follow, type StreamState } from "../../client/stream.ts"
import { limits } from "../../Limits.ts"
import { secretKey, sign } from "../../webhooks/send/Signature.ts"
import { CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { serverFlags } from "../process/ApiClient.ts"
import { firstSignal } from "../process/Signals.ts"

/*
 * Forwards one message as a webhook would send it, and prints the outcome. Any status is an answer:
 * the message is not sent again. Without a reply the message is sent at most `listenAttemptsMax`
 * times. Then the next message follows, since a receiver may be down for hours.
 */

export interface Forwarding {
  readonly target: URL
  readonly key: KeyObject
  readonly say: (line: string) => void
  /** Ends it. */
  readonly signal: AbortSignal
}

interface Named {
  readonly id: string
  readonly type: string
  readonly data: { readonly userId?: string }
}

const forward = async (text: string, forwarding: Forwarding): Promise<void> => {
  const { say, signal } = forwarding
  const { data, id, type } = JSON.parse(text) as Named
  const subject = [type, id, data.userId ?? "-"].join("  ")
  for (let attempt = 1; !signal.aborted; attempt++) {
    const begunAt = performance.now()
    const reply = await post(text, id, forwarding)
    const durationMs = Math.round(performance.now() - begunAt)
    if (typeof reply === "number") return say(`${clock()}  ${reply}  ${subject}  ${durationMs} ms`)
    if (signal.aborted) return
    const delayMs = limits.listenRetryMs * 2 ** (attempt - 1)
    const isLast = attempt === limits.listenAttemptsMax
    const next = isLast
      ? "given up"
      : `attempt ${attempt + 1} of ${limits.listenAttemptsMax} in ${delayMs / 1_000} s`
    say(`${clock()}  ---  ${subject}  ${reply}; ${next}`)
    if (isLast) return
    await pause(delayMs, signal)
  }
}

const clock = (): string => new Date().toTimeString().slice(0, 8)

/** The status, or why there is no status. */
const post = async (
  body: string,
  id: string,
  { key, signal, target }: Forwarding,
): Promise<number | string> => {
  const timestampSeconds = Math.floor(Date.now() / 1_000)
  const headers = {
    "content-type": "application/json",
    "user-agent": "Laurel",
    "webhook-id": id,
    "webhook-timestamp": String(timestampSeconds),
    "webhook-signature": sign([key], id, timestampSeconds, body),
  }
  const late = AbortSignal.timeout(limits.webhookTimeoutMs)
  try {
    const reply = await fetch(target, {
      method: "POST",
      headers,
      body,
      redirect: "manual",
      signal: AbortSignal.any([signal, late]),
    })
    await reply.body?.cancel()
    return reply.status
  } catch (error) {
    if (late.aborted) return `no reply within ${limits.webhookTimeoutMs / 1_000} s`
    const { cause } = error as { readonly cause?: { readonly code?: string } }
    return cause?.code === "ECONNREFUSED"
      ? `nothing listens at ${target.host}`
      : `no reply (${cause?.code ?? error})`
  }
}

/* The receiver of messages, and the secret that signs them. */

/**
 * The receiver's URL: complete, without its scheme (`localhost:3000/hook`), or a port of this
 * machine.
 */
export const parseTarget = (text: string): Result.Result<URL, string> => {
  const whole = /^\d{1,5}$/.test(text)
    ? `http://localhost:${text}`
    : /^[a-z][a-z\d+.-]*:\/\//i.test(text)
      ? text
      : `http://${text}`
  const url = URL.parse(whole)
  return url === null || !/^https?:$/.test(url.protocol) || url.username || url.password
    ? Result.fail("must be an http or https URL without credentials, such as localhost:3000/hook")
    : Result.succeed(url)
}

/**
 * The same secret for the same key, so that it can stay in the receiver's settings. Only the key
 * gives the secret.
 */
export const secretFor = (key: string): string =>
  `whsec_${createHmac("sha256", key).update("laurel listen").digest("base64")}`

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

/** Ends when the reader of the output ends: the command would print nothing more. */
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
