/**
 * The bytes of a user's badges: an entry for each award, by its name (`awardName`). The awards of a
 * badge are adjacent.
 */
import { awardName } from "../../domain/project/Definition.ts"
import type { EarnedAward, EarnedBadge, UserState } from "../../domain/user/User.ts"
import type { Names } from "./Names.ts"
import { bad, type Reader, writeName, writeNumber, writeOptional } from "./StateBytes.ts"

export const awardCount = ({ badges }: UserState): number => {
  let count = 0
  for (const awards of badges.values()) count += awards.length
  return count
}

export const writeBadges = ({ badges }: UserState, names: Names): void => {
  for (const [id, awards] of badges) {
    for (const { earnedAt, target, tier, times } of awards) {
      writeName(awardName(id, tier), names)
      writeNumber(earnedAt)
      writeOptional(target)
      writeOptional(times)
    }
  }
}

export const readBadges = (
  reader: Reader,
  count: number,
  names: Names,
): Map<string, EarnedBadge> => {
  const badges = new Map<string, Array<EarnedAward>>()
  let last = ""
  for (let left = count; left > 0; left--) {
    const [id = "", tier = "", ...rest] = reader.name(names).split(" ")
    const earnedAt = reader.number()
    const target = reader.optional()
    const times = reader.optional()
    const award = {
      tier,
      earnedAt,
      ...(target !== undefined && { target }),
      ...(times !== undefined && { times }),
    }
    const awards = badges.get(id)
    const isNext = awards === undefined || (id === last && awards.every((one) => one.tier !== tier))
    if (!isNext || rest.length > 0) throw bad("an award has no place")
    last = id
    if (awards === undefined) badges.set(id, [award])
    else awards.push(award)
  }
  return badges
}
