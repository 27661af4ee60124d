import { limits } from "../../Limits.ts"
import type { Fault } from "../values/Errors.ts"

/** The fault of a target that no sum can reach exactly. */
export const sumTargetFaults = (
  { sumPath, target = 0 }: { readonly sumPath?: string; readonly target?: number },
  pointer: string,
): ReadonlyArray<Fault> => {
  if (sumPath === undefined || target <= limits.sumTargetMax) return []
  const detail = `must be at most ${limits.sumTargetMax} where numbers are summed`
  return [{ pointer, code: "out_of_range", detail }]
}
