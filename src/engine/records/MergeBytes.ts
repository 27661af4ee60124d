/** The bytes of a merge in a user's state (`UserCodec.ts`): where the id leads, and who was merged. */
import type { AbsorbedUser, LeadsTo, UserState } from "../../domain/user/User.ts"
import type { Names } from "./Names.ts"
import { bad, type Reader, writeByte, writeName, writeNumber, writeText } from "./StateBytes.ts"

/** The tags of the sections. */
export const mergeTags = { leadsTo: 19, absorbed: 20, erasing: 21 } as const

type Parts = Pick<UserState, "absorbed" | "erasing" | "leadsTo">

/** Writes the sections. `begins` as in `UserCodec`. */
export const writeMerges = (
  { absorbed, erasing, leadsTo }: Parts,
  names: Names,
  begins: (tag: number, count: number) => boolean,
): void => {
  if (begins(mergeTags.leadsTo, Number(leadsTo !== null))) writeLeadsTo(leadsTo!)
  if (begins(mergeTags.absorbed, absorbed.length)) writeAbsorbed(absorbed, names)
  if (begins(mergeTags.erasing, Number(erasing > 0))) writeNumber(erasing)
}

/** Reads a section into `state`; returns whether it is one of a merge. */
export const readMerges = (
  state: { -readonly [Part in keyof Parts]: Parts[Part] },
  tag: number,
  reader: Reader,
  count: number,
  names: Names,
): boolean => {
  if (tag !== mergeTags.absorbed && count !== 1) throw bad("a part of a merge is there twice")
  if (tag === mergeTags.leadsTo) state.leadsTo = readLeadsTo(reader)
  else if (tag === mergeTags.absorbed) state.absorbed = readAbsorbed(reader, count, names)
  else if (tag === mergeTags.erasing) state.erasing = reader.number()
  else return false
  return true
}

const doneFlag = 1

const writeLeadsTo = ({ at, done, frozen, into }: LeadsTo): void => {
  writeByte(done ? doneFlag : 0)
  writeText(into)
  writeNumber(frozen)
  writeNumber(at)
}

const readLeadsTo = (reader: Reader): LeadsTo => {
  const done = reader.flags(doneFlag) === doneFlag
  const into = reader.text()
  const frozen = reader.number()
  return { into, frozen, done, at: reader.number() }
}

const writeAbsorbed = (all: ReadonlyArray<AbsorbedUser>, names: Names): void => {
  for (const one of all) writeOne(one, names)
}

const writeOne = (
  {
    badgeRecounts = [],
    frozen,
    lastPurchase = 0,
    lastReward = 0,
    lastSpend = 0,
    merged,
    userId,
  }: AbsorbedUser,
  names: Names,
): void => {
  writeText(userId)
  writeNumber(frozen)
  writeNumber(merged)
  writeNumber(lastReward)
  writeNumber(lastSpend)
  writeNumber(lastPurchase)
  writeNumber(badgeRecounts.length)
  for (const [badgeId, upTo] of badgeRecounts) {
    writeName(badgeId, names)
    writeNumber(upTo)
  }
}

const readAbsorbed = (reader: Reader, count: number, names: Names): ReadonlyArray<AbsorbedUser> =>
  Array.from({ length: count }, () => readOne(reader, names))

const readOne = (reader: Reader, names: Names): AbsorbedUser => {
  const userId = reader.text()
  const frozen = reader.number()
  const merged = reader.number()
  const lastReward = reader.number()
  const lastSpend = reader.number()
  const lastPurchase = reader.number()
  const badgeRecounts = Array.from(
    { length: reader.count() },
    () => [reader.name(names), reader.number()] as const,
  )
  if (merged <= frozen) throw bad("a user was taken in before it was frozen")
  return {
    userId,
    frozen,
    merged,
    ...(lastReward > 0 && { lastReward }),
    ...(lastSpend > 0 && { lastSpend }),
    ...(lastPurchase > 0 && { lastPurchase }),
    ...(badgeRecounts.length > 0 && { badgeRecounts }),
  }
}
