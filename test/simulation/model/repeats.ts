/**
 * Repeats of callers' ids. Two bodies are compared by the list of all their places: what stands at
 * each place, an object, a list or a value.
 */

import type { Purchase } from "../../../src/domain/record/Purchase.ts"
import type { GrantedReward, Spending, TrackedEvent } from "../../../src/domain/record/Record.ts"

export type Named = TrackedEvent | GrantedReward | Spending | Purchase

const namedKinds: ReadonlySet<string> = new Set(["event", "reward", "spend", "purchase"])

/** Whether the command is of a kind that may have an id of the caller. */
export const isNamed = (command: { readonly kind: string }): command is Named =>
  namedKinds.has(command.kind)

/** What a caller sent besides the id. */
const bodyOf = (sent: Partial<TrackedEvent> & { readonly repair?: string }) => {
  const { id: _, imported: __, kind: ___, ...body } = sent
  // Nobody sends the price of a repair, which the record has.
  return body.repair === undefined ? body : { ...body, currencies: {} }
}

/** The places of `value`, with what stands there. The keys of these runs have no slash. */
const places = (value: unknown, pointer = ""): ReadonlyArray<readonly [string, string]> => {
  if (typeof value !== "object" || value === null) return [[pointer, JSON.stringify(value)]]
  const inside = Object.entries(value).flatMap(([key, item]) =>
    item === undefined ? [] : places(item, `${pointer}/${key}`),
  )
  return [[pointer, Array.isArray(value) ? "a list" : "an object"], ...inside]
}

/** Where the body of `repeat` differs from that of `first`, sorted. */
export const whereDiffers = (repeat: Named, first: Named): ReadonlyArray<string> => {
  const [now, before] = [
    places(bodyOf(repeat as TrackedEvent)),
    places(bodyOf(first as TrackedEvent)),
  ]
  const [at, was] = [new Map(now), new Map(before)]
  const differing = [...new Set([...at.keys(), ...was.keys()])].filter((place) => {
    const around = place.slice(0, Math.max(0, place.lastIndexOf("/")))
    const isDated = at.has("/occurredAt") && was.has("/occurredAt")
    if (place === "/occurredAt" && !isDated) return false
    // Inside a place that differs, nothing more is reported.
    return at.get(place) !== was.get(place) && at.get(around) === was.get(around)
  })
  return differing.sort()
}
