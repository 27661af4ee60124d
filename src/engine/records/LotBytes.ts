/**
 * The bytes of lots in a user's state.
 *
 *     pending   how many; of each: the time, the amount, the last day, if it has one
 *     expiring  the open lots, then the expired ones, each: how many; of each: from, to, the amount
 */
import {
  type DayLots,
  type Expiring,
  type PendingLots,
  pendingLot,
} from "../../domain/user/Lots.ts"
import { type Reader, writeNumber, writeOptional } from "./StateBytes.ts"

export const writePending = (lots: PendingLots): void => {
  writeNumber(lots.length)
  for (const [at, amount, lastDay] of lots) {
    writeNumber(at)
    writeNumber(amount)
    writeOptional(lastDay)
  }
}

export const readPending = (reader: Reader): PendingLots =>
  Array.from({ length: reader.count() }, () =>
    pendingLot(reader.number(), reader.number(), reader.optional()),
  )

export const writeExpiring = ({ expired, open }: Expiring): void => {
  for (const lots of [open, expired]) {
    writeNumber(lots.length)
    for (const [from, to, amount] of lots) {
      writeNumber(from)
      writeNumber(to)
      writeNumber(amount)
    }
  }
}

export const readExpiring = (reader: Reader): Expiring => {
  const open = readDayLots(reader)
  return { open, expired: readDayLots(reader) }
}

const readDayLots = (reader: Reader): DayLots =>
  Array.from({ length: reader.count() }, () => [reader.number(), reader.number(), reader.number()])
