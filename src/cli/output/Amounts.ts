/** Amounts and times as people read them. */

const units = ["B", "KiB", "MiB", "GiB", "TiB"] as const

/** Bytes in the largest unit that leaves a whole number before the point. */
export const bytesText = (bytes: number): string => {
  let value = bytes
  let unit = 0
  while (value >= 1_024 && unit < units.length - 1) {
    value /= 1_024
    unit++
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}

export const countText = (value: number): string => value.toLocaleString("en-US")

/** A number of things: `1 record`, `2 records`. */
export const amountOf = (count: number, thing: string): string =>
  `${countText(count)} ${thing}${count === 1 ? "" : "s"}`
