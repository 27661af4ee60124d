/**
 * The record that a revocation is about. An id of the caller (`ownId`) may look like an id of
 * Laurel. Laurel's id then takes precedence, even if its record is already revoked, so that a
 * repeated revocation never revokes another event.
 */
import { type JournalRecord, ownIdKey, type UserCommand } from "./Record.ts"

/** The reference of a command to an earlier record. */
export interface Reference<Command> {
  /** The sequence of the record; 0: no record. */
  readonly sequence: number
  /** Whether the command is about the record with this sequence. */
  readonly fits: (record: JournalRecord) => boolean
  /** The deduplication key of the record if it does not fit. */
  readonly key: string | undefined
  /** The command, about the record that was found. */
  readonly about: (record: JournalRecord) => Command
}

/** The reference of a command; `undefined` if it is about no earlier record. */
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
