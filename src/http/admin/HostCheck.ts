/**
 * Under which hosts the admin address may be asked. A page in a browser can have its own host name point to this
 * machine (DNS rebinding) and then read what needs no token; but its requests carry that name in `Host`.
 */
import { isIP } from "node:net"

const hostAndPort = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::\d*)?$/

/** Tells whether a request's `Host` is an IP address, `localhost`, or one of `names`; clients of HTTP/1.0 send none. */
export const hostCheck = (
  names: ReadonlyArray<string>,
): ((host: string | undefined) => boolean) => {
  const known = new Set(["localhost", ...names.map((name) => name.toLowerCase())])
  return (host) => {
    if (host === undefined) return true
    const [, inBrackets, plain] = hostAndPort.exec(host.toLowerCase()) ?? []
    if (inBrackets !== undefined) return isIP(inBrackets) === 6
    return plain !== undefined && (isIP(plain) === 4 || known.has(plain.replace(/\.$/, "")))
  }
}
