/** The bytes of the reminders of a user that no event has followed: each its kind and its time. */
import { reminderKinds, type Unanswered } from "../../domain/user/Comeback.ts"
import { bad, type Reader, writeByte, writeNumber } from "./StateBytes.ts"

export const writeUnanswered = (unanswered: ReadonlyArray<Unanswered>): void => {
  for (const [kind, at] of unanswered) {
    writeByte(reminderKinds.indexOf(kind))
    writeNumber(at)
  }
}

export const readUnanswered = (reader: Reader, count: number): ReadonlyArray<Unanswered> =>
  Array.from({ length: count }, () => {
    const kind = reminderKinds[reader.byte()]
    if (kind === undefined) throw bad("a kind of reminder is unknown")
    return [kind, reader.number()] as const
  })
