/** Where an API key may be used from: origins of web pages, and ranges of addresses. */
import { limits } from "../../Limits.ts"
import type { Fault } from "../values/Errors.ts"

const byte = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
const ipv4 = new RegExp(`^${byte}(?:\\.${byte}){3}$`)
const mappedHex = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/

/**
 * An IP address in its one form: IPv4 as four numbers, also where it was mapped into IPv6; IPv6 in lower case and compressed.
 * `undefined` for any other text.
 */
export const normalAddress = (text: string): string | undefined => {
  if (ipv4.test(text)) return text
  if (!text.includes(":") || !/^[0-9a-f:.]{2,45}$/i.test(text)) return undefined
  const address = URL.parse(`http://[${text}]`)?.hostname.slice(1, -1)
  if (address === undefined) return undefined
  const [, high, low] = mappedHex.exec(address) ?? []
  if (high === undefined || low === undefined) return address
  return [high, low]
    .map((hex) => Number.parseInt(hex, 16))
    .flatMap((pair) => [pair >> 8, pair & 255])
    .join(".")
}

/** A range in CIDR notation, also of a lone address; `undefined` where `text` is neither. */
export const normalCidr = (text: string): string | undefined => {
  const [, network = "", bits] = /^([^/]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? []
  const address = normalAddress(network)
  // An IPv4 range that is written as IPv6 would count its bits from another place.
  if (address === undefined || address.includes(":") !== network.includes(":")) return undefined
  const width = address.includes(":") ? 128 : 32
  return Number(bits ?? width) <= width ? `${address}/${bits ?? width}` : undefined
}

/** Without wildcards, which URLs may have. */
const originForm = /^https?:\/\/[a-z0-9.:[\]_-]+$/

/** Whether `text` is the origin of a web page exactly as browsers send it. */
const isOrigin = (text: string): boolean => {
  if (text.length > limits.originCharactersMax || !originForm.test(text)) return false
  const url = URL.parse(text)
  return url !== null && url.origin === text
}

interface Restrictions {
  readonly allowedOrigins?: ReadonlyArray<string> | undefined
  readonly allowedCidrs?: ReadonlyArray<string> | undefined
}

/** All that is wrong with them; pointers are those of the request. */
export const restrictionFaults = ({ allowedCidrs, allowedOrigins }: Restrictions) => [
  ...listFaults(
    "/allowedOrigins",
    allowedOrigins ?? [],
    limits.keyOriginsMax,
    isOrigin,
    "must be an origin as browsers send it, such as https://app.example:8443: lower case, no path, no default port",
  ),
  ...listFaults(
    "/allowedCidrs",
    allowedCidrs ?? [],
    limits.keyCidrsMax,
    (text) => normalCidr(text) !== undefined,
    "must be an address or a range, such as 203.0.113.7, 10.0.0.0/8 or 2001:db8::/32",
  ),
]

const listFaults = (
  pointer: string,
  items: ReadonlyArray<string>,
  itemsMax: number,
  isGood: (item: string) => boolean,
  detail: string,
): ReadonlyArray<Fault> => {
  const faults: Array<Fault> = []
  if (items.length > itemsMax) {
    faults.push({ pointer, code: "too_long", detail: `must have at most ${itemsMax} items` })
  }
  for (const [index, item] of items.slice(0, itemsMax).entries()) {
    if (isGood(item)) continue
    faults.push({ pointer: `${pointer}/${index}`, code: "invalid_format", detail })
  }
  return faults
}

/** Restrictions as they are stored: each once, and absent where there is none. */
export const normalRestrictions = ({ allowedCidrs = [], allowedOrigins = [] }: Restrictions) => {
  const cidrs = new Set(allowedCidrs.map((cidr) => normalCidr(cidr)!))
  return {
    ...(allowedOrigins.length > 0 && { allowedOrigins: [...new Set(allowedOrigins)] }),
    ...(cidrs.size > 0 && { allowedCidrs: [...cidrs] }),
  }
}
