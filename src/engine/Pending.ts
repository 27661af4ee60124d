/**
 * Records that are durable, or about to be, and not in the snapshot yet. Their text stays as the bytes that
 * went into the journal, in one buffer per batch outside the heap: a tree of objects or a string for each
 * would cost the garbage collector more than all else that is done for an event.
 */
import type { JournalRecord } from "../domain/Record.ts"
import type { AnyActor } from "./Actor.ts"
import { decodeRecord } from "./Codec.ts"
import type { RecordText } from "./RecordTexts.ts"

export interface PendingRecord {
  readonly actor: AnyActor
  readonly sequence: number
  /** The name under which a repeat of its command is a duplicate. */
  readonly key: string | undefined
  /** The actor's record before it, if that is pending too. */
  older: PendingRecord | undefined
  text: RecordText
  textStart: number
  textBytes: number
}

export const decodePending = ({ text, textBytes, textStart }: PendingRecord): JournalRecord =>
  decodeRecord(text.bytes.subarray(textStart, textStart + textBytes))

/** A record that was read back from the journal, whose text is `bytes`. */
export const pendingOf = (
  actor: AnyActor,
  { sequence }: JournalRecord,
  key: string | undefined,
  bytes: Buffer,
): PendingRecord => ({
  actor,
  sequence,
  key,
  older: undefined,
  text: { bytes },
  textStart: 0,
  textBytes: bytes.length,
})
