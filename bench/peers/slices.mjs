/** The values of an iterator, in lists of a thousand. */
export function* slicesOf(iterator) {
  let slice = []
  for (const each of iterator) {
    slice.push(each)
    if (slice.length < 1_000) continue
    yield slice
    slice = []
  }
  if (slice.length > 0) yield slice
}
