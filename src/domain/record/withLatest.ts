/**
 * Sets `entry` in `map`, and returns it. Ended entries (archived, revoked) stand last, in the order of their end; of more than
 * `endedMax` the first are dropped.
 */
export const withLatest = <A extends { readonly id: string }>(
  map: Map<string, A>,
  entry: A,
  hasEnded: (entry: A) => boolean,
  endedMax: number,
): ReadonlyMap<string, A> => {
  if (hasEnded(entry)) map.delete(entry.id)
  map.set(entry.id, entry)
  if (!hasEnded(entry) || map.size <= endedMax) return map
  const ended = [...map.values()].filter(hasEnded)
  for (const { id } of ended.slice(0, Math.max(0, ended.length - endedMax))) map.delete(id)
  return map
}
