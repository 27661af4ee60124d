import { Effect } from "effect"
import type { Accounts } from "../../accounts/Accounts.ts"
import { type MessageName, messageNameOf } from "../../domain/message/Message.ts"
import { kindsOf } from "../../domain/message/MessageKind.ts"
import { laurelError } from "../../domain/values/Errors.ts"
import type { Feed } from "../../engine/commit/Feed.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { Stream } from "../api/Stream.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { eventStream } from "../stream/EventStream.ts"
import { placeNow, type StreamHub } from "../stream/StreamHub.ts"
import { StreamPlace, type StreamPlaces } from "../stream/StreamPlaces.ts"
import { readPastOf } from "../stream/UserPast.ts"

export interface StreamParts {
  readonly hub: StreamHub
  readonly places: StreamPlaces
  readonly accounts: Accounts["Service"]
  readonly heartbeatMs: number
}

export const streamHandlers = (
  engine: Engine["Service"],
  { accounts, heartbeatMs, hub, places }: StreamParts,
): Handlers<typeof Stream> => ({
  open: {
    handle: ({ caller, headers, query }) =>
      Effect.gen(function* () {
        const { feed, isErased } = engine
        const { accountId, environment } = caller
        const asked = caller.userId ?? query.userId
        // The stream of a former id is that of the user to whom the id leads when it begins.
        const userId = asked && engine.idNow(environment, asked)
        const id = headers["last-event-id"]
        const after = id === undefined ? undefined : messageNameOf(id)
        const place =
          userId === undefined
            ? places.take(environment, accountId)
            : places.takeOfUser(environment, userId)
        if (!(place instanceof StreamPlace)) return yield* Effect.fail(place)
        const kinds = kindsOf(query.events?.split(",") ?? ["*"])
        const user =
          userId === undefined
            ? undefined
            : { id: userId, past: readPastOf(engine, environment, userId, kinds) }
        const beginning = Effect.gen(function* () {
          if (after === undefined) return { position: yield* placeNow(feed) }
          if (!(yield* isKept(feed, after))) return yield* Effect.fail(gone)
          if (user === undefined) return {}
          const begun = yield* user.past(after, feed.head + 1)
          return begun === undefined ? yield* Effect.fail(gone) : { begun }
        })
        const begins = yield* Effect.onError(beginning, () => Effect.sync(() => place.leave()))
        const mayGoOn = () => accounts.isInForce(caller)
        const scope = { feed, isErased, hub, environment, kinds, user }
        return {
          contentType: "text/event-stream",
          headers: noBuffering,
          stream: eventStream({ ...scope, ...begins, after, mayGoOn, heartbeatMs }),
          place,
        }
      }),
  },
})

/** Tells nginx, and other proxies that know the field, to pass on each piece at once. */
const noBuffering = ["X-Accel-Buffering", "no"]

/**
 * Whether the journal still has the record of a message. After a restore, the journal may have
 * another record with the same sequence.
 */
const isKept = (feed: Feed, { at, sequence }: MessageName): Effect.Effect<boolean> =>
  sequence > feed.head
    ? Effect.succeed(false)
    : Effect.map(feed.find([sequence]), (found) => found.get(sequence)?.record.at === at)

const gone = laurelError(
  "gone",
  "The messages after this one are no longer kept, or too many. Open the stream without Last-Event-ID and reload your data.",
)
