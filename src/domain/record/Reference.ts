/**
 * The record that a revocation is about. An id of the caller (`ownId`) may look like one of Laurel's: Laurel's id comes
 * first, also where that record was revoked before, so that a repeated revocation never revokes another event.
 */
import { ownIdKey } from "./duplicateKey.ts"
import type { JournalRecord, UserCommand } from "./Record.ts"

/** How a command names the earlier record that it is about. */
export interface Reference<Command> {
  /** The sequence of the record; 0 names none. */
  readonly sequence: number
  /** Whether the record with this sequence is meant. */
  readonly fits: (record: JournalRecord) => boolean
  /** If not, the record with this deduplication key is. */
  readonly key: string | undefined
  /** The command about the record found. */
  readonly about: (record: JournalRecord) => Command
}

/** `undefined`: the command is about no earlier record. */
export const referenceOf = (command: UserCommand): Reference<UserCommand> | undefined => {
  if (command.kind !== "revocation") return undefined
  const { kind, of, ownId } = command
  return {
    sequence: command.sequence,
    fits: ({ at, cause }) => at === command.at && cause.kind === of,
    key: ownId === undefined ? undefined : ownIdKey(of, ownId),
    about: ({ at, sequence }) => ({ kind, of, sequence, at }),
  }
}
