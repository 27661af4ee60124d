/**
 * Reads the messages of one user that a stream has missed, from the user's history. The cost
 * depends on the records of that user. The journal would cost the records of all users, once for
 * each client that resumes after a restart.
 *
 * The history starts after the last erasure of the user. A stream that resumes before an erasure is
 * refused if the user no longer exists; if the user was created again, it continues with
 * `user.created`.
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
  /** The position after the messages; `undefined` if the user has no records. */
  readonly after: MessageName | undefined
  /** The text has all messages of the records before this one. */
  readonly until: number
}

/**
 * Reads the user's messages after `after` in the records before `until`. `undefined` if the user
 * does not exist, if there are more than `userStreamPastRecordsMax` records, or if the messages are
 * longer than `userStreamPastCharactersMax`: for a client, loading the user's state is then faster.
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
