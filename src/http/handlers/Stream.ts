import { Effect } from "effect"
import type { Accounts } from "../../accounts/Accounts.ts"
import { type MessageName, messageNameOf } from "../../domain/message/Message.ts"
import { kindsOf } from "../../domain/message/MessageKind.ts"
import { laurelError } from "../../domain/values/Errors.ts"
import type { Feed } from "../../engine/commit/Feed.ts"
import type { Stream } from "../api/Stream.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { eventStream } from "../stream/EventStream.ts"
import type { StreamHub } from "../stream/StreamHub.ts"
import { StreamPlace, type StreamPlaces } from "../stream/StreamPlaces.ts"

export interface StreamParts {
  readonly feed: Feed
  readonly hub: StreamHub
  readonly places: StreamPlaces
  readonly accounts: Accounts["Service"]
  readonly heartbeatMs: number
}

export const streamHandlers = ({
  accounts,
  feed,
  heartbeatMs,
  hub,
  places,
}: StreamParts): Handlers<typeof Stream> => ({
  open: {
    handle: ({ caller, headers, query }) =>
      Effect.gen(function* () {
        const { environment } = caller
        const id = headers["last-event-id"]
        const after = id === undefined ? undefined : messageNameOf(id)
        const place = places.take(environment, caller.accountId)
        if (!(place instanceof StreamPlace)) return yield* Effect.fail(place)
        if (after !== undefined) {
          const kept = Effect.flatMap(isKept(feed, after), (is) =>
            is ? Effect.void : Effect.fail(gone),
          )
          yield* Effect.onError(kept, () => Effect.sync(() => place.leave()))
        }
        const kinds = kindsOf(query.events?.split(",") ?? ["*"])
        const mayGoOn = () => accounts.isInForce(caller)
        return {
          contentType: "text/event-stream",
          stream: eventStream({ feed, hub, environment, kinds, after, mayGoOn, heartbeatMs }),
          place,
        }
      }),
  },
})

/** Whether the journal still has the record of a message. A directory that was restored may have another one there. */
const isKept = (feed: Feed, { at, sequence }: MessageName): Effect.Effect<boolean> =>
  sequence > feed.head
    ? Effect.succeed(false)
    : Effect.map(feed.find([sequence]), (found) => found.get(sequence)?.record.at === at)

const gone = laurelError(
  "gone",
  "The journal no longer has the messages after this one. Open the stream without Last-Event-ID and reload your data.",
)
