/**
 * `map` with `entry`. Ended entries (archived, revoked) stand last, in the order of their end; of more than
 * `endedMax` the first are dropped.
 */
export const withLatest = <A extends { readonly id: string }>(
  map: ReadonlyMap<string, A>,
  entry: A,
  hasEnded: (entry: A) => boolean,
  endedMax: number,
): ReadonlyMap<string, A> => {
  const next = new Map(map)
  if (hasEnded(entry)) next.delete(entry.id)
  next.set(entry.id, entry)
  if (!hasEnded(entry) || next.size <= endedMax) return next
  const ended = [...next.values()].filter(hasEnded)
  for (const { id } of ended.slice(0, Math.max(0, ended.length - endedMax))) next.delete(id)
  return next
}
