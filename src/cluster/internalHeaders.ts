/**
 * What a runner tells the owner with a forwarded request. Only the internal port reads these header fields; what a client
 * sends under their names is not passed on.
 */
const prefix = "laurel-internal-"

export const internalHeaders = {
  /** The secret of the cluster. */
  secret: `${prefix}secret`,
  partition: `${prefix}partition`,
  /** The request is for the owner's admin server; the sender has checked its token. */
  admin: `${prefix}admin`,
  /** The request is a command to the directory. */
  directory: `${prefix}directory`,
  /** The address of the client's connection. */
  peer: `${prefix}peer`,
  /** In a reply: this runner is not the owner, and did nothing. */
  notOwner: `${prefix}not-owner`,
} as const

/** Between two neighbours alone (RFC 9110, 7.6.1), or made by the sender's HTTP. */
const ofOneHop = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "expect",
])

/** Whether a header field with this name, in lower case, goes on to the next hop; `connection`: the field that names others. */
export const passesOn = (name: string, connection: string | undefined): boolean =>
  !ofOneHop.has(name) &&
  !name.startsWith(prefix) &&
  (connection === undefined || !namedIn(connection, name))

const namedIn = (connection: string, name: string): boolean =>
  connection !== "keep-alive" &&
  connection.split(",").some((each) => each.trim().toLowerCase() === name)

/** The header fields of a forwarded request, names and values in turn. */
export const forwardedHeaders = (
  rawHeaders: ReadonlyArray<string>,
  connection: string | undefined,
  more: ReadonlyArray<string>,
): Array<string> => {
  const headers: Array<string> = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase()
    // The id of the request here is the one there.
    if (name !== "x-request-id" && passesOn(name, connection)) {
      headers.push(name, rawHeaders[index + 1]!)
    }
  }
  headers.push(...more)
  return headers
}
