/** The records that answers are about. */

import { isDeepStrictEqual } from "node:util"
import { replyOf, type UserReply } from "../../src/domain/message/UserReply.ts"
import type { JournalRecord, UserCommand } from "../../src/domain/record/Record.ts"
import { duplicateKey, ownIdKey } from "../../src/domain/record/Record.ts"
import { recordNameOf } from "../../src/domain/values/Ids.ts"

/**
 * The record that an answer to the user is about, among all its `records`, of which `fresh` are
 * new.
 */
export const recordOf = (
  reply: UserReply,
  userId: string,
  command: UserCommand,
  records: ReadonlyArray<JournalRecord>,
  fresh: ReadonlyArray<JournalRecord>,
): JournalRecord | undefined => {
  switch (reply.kind) {
    case "event":
    case "reward": {
      const name =
        reply.kind === "event"
          ? recordNameOf("evt", reply.eventId)
          : recordNameOf("rwd", reply.rewardId)
      return records.find(({ sequence }) => sequence === name?.sequence)
    }
    case "spend": {
      const name = recordNameOf("spd", reply.spendId)
      return records.find(({ sequence }) => sequence === name?.sequence)
    }
    case "purchase": {
      const name = recordNameOf("pur", reply.purchaseId)
      return records.find(({ sequence }) => sequence === name?.sequence)
    }
    case "opening": {
      // The user may have been erased between two openings.
      const own = records.filter(
        ({ cause, subject }) =>
          cause.kind === "opening" && subject.actor === "user" && subject.userId === userId,
      )
      return own.find((record) => isDeepStrictEqual(replyOf(record), reply)) ?? own[0]
    }
    case "revocation":
    case "refund":
      return firstOf(command, records)
    case "done": {
      // The answer names no record, so it is a new one with this cause. The same command may have made
      // several, if the user was erased between them.
      const wanted = JSON.stringify(command)
      const own = fresh.filter(
        ({ cause, subject }) =>
          subject.actor === "user" && subject.userId === userId && JSON.stringify(cause) === wanted,
      )
      return own.find((record) => isDeepStrictEqual(replyOf(record), reply)) ?? own[0]
    }
  }
}

/** The record that makes `command` a duplicate. */
export const firstOf = (
  command: UserCommand,
  records: ReadonlyArray<JournalRecord>,
): JournalRecord | undefined => firstWith(duplicateKey(withRecord(command, records)), records)

/** A revocation by the caller's id, as a revocation of the record with this id. */
export const withRecord = (
  command: UserCommand,
  records: ReadonlyArray<JournalRecord>,
): UserCommand => {
  if (command.kind !== "revocation" || command.ownId === undefined) return command
  const { kind, of, ownId } = command
  const record = firstWith(ownIdKey(of, ownId), records)
  return { kind, of, sequence: record?.sequence ?? 0, at: record?.at ?? 0 }
}

const firstWith = (key: string | undefined, records: ReadonlyArray<JournalRecord>) =>
  key === undefined
    ? undefined
    : records.find(({ cause, facts }) => duplicateKey(cause) === key && facts.length > 0)
