/**
 * The messages of one user that a stream has missed, from the user's history. Its cost follows what the user did since;
 * the journal would have to be read with what all users did, once for each client that resumes after a restart.
 *
 * The history has nothing of before an erasure. A stream that resumes behind one is refused where the user is gone; where the
 * user was created once more it continues with `user.created`.
 */
import { Effect, Stream } from "effect"
import type { MessageName } from "../../domain/message/Message.ts"
import type { MessageKind } from "../../domain/message/MessageKind.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { FeedEntry } from "../../engine/commit/Feed.ts"
import type { Engine, StorageCode } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import { messageBlocks, placeAfter } from "./StreamHub.ts"

export interface UserPast {
  /** The messages, oldest first. */
  readonly text: string
  /** The place behind them; `undefined`: the user did nothing. */
  readonly after: MessageName | undefined
  /** All before this record is in the text. */
  readonly until: number
}

/**
 * The user's messages behind `after` in the records before `until`. `undefined` where the user is gone, or where the records are
 * more than `userStreamPastRecordsMax` or the messages longer than `userStreamPastCharactersMax`: a client loads the user's state
 * sooner than those.
 */
export type ReadPast = (
  after: MessageName,
  until: number,
) => Effect.Effect<UserPast | undefined, LaurelError<StorageCode>>

export const readPastOf =
  (
    engine: Engine["Service"],
    environment: string,
    userId: string,
    kinds: ReadonlySet<MessageKind>,
  ): ReadPast =>
  (after, until) =>
    Effect.gen(function* () {
      if ((yield* engine.readUser(environment, userId)) === undefined) return undefined
      const texts: Array<string> = []
      let newest: MessageName | undefined
      let characters = 0
      const isTooMuch = () =>
        texts.length > limits.userStreamPastRecordsMax ||
        characters > limits.userStreamPastCharactersMax
      yield* Stream.runForEachWhile(engine.readHistory(environment, userId, until), (records) =>
        Effect.sync(() => {
          for (const record of records) {
            if (record.sequence < after.sequence || isTooMuch()) return false
            const entry = new FeedEntry(record, 0)
            newest ??= placeAfter(entry)
            const text = messageBlocks(entry, kinds, after)
            characters += text.length
            texts.push(text)
          }
          return true
        }),
      )
      if (isTooMuch()) return undefined
      return { text: texts.toReversed().join(""), after: newest, until }
    })
