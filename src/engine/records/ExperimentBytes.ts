/** The bytes of a user's exposures to experiments (`UserCodec.ts`). */
import type { Exposure } from "../../domain/project/Experiment.ts"
import type { Names } from "./Names.ts"
import { type Reader, writeByte, writeName, writeNumber } from "./StateBytes.ts"

const mixedFlag = 1

export const writeExposure = ({ at, before, mixed, variant }: Exposure, names: Names): void => {
  writeByte(mixed === true ? mixedFlag : 0)
  writeName(variant, names)
  writeNumber(at)
  writeNumber(before ?? 0)
}

export const readExposure = (reader: Reader, names: Names): Exposure => {
  const mixed = reader.flags(mixedFlag) === mixedFlag
  const variant = reader.name(names)
  const at = reader.number()
  const before = reader.number()
  return { variant, at, ...(before > 0 && { before }), ...(mixed && { mixed }) }
}
