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

/** The names, in lower case, that a `Connection` field lists: its fields stay between two neighbours. */
const namesIn = (connection: string | undefined): ReadonlySet<string> =>
  connection === undefined || connection === "keep-alive"
    ? noNames
    : new Set(connection.split(",").map((each) => each.trim().toLowerCase()))
const noNames: ReadonlySet<string> = new Set()

/**
 * Tells whether a header field with a name, in lower case, goes on to the next hop. The `Connection` field is read once: a
 * caller may list thousands of names beside thousands of fields.
 */
export const passesOn = (connection: string | undefined): ((name: string) => boolean) => {
  const named = namesIn(connection)
  return (name) => !ofOneHop.has(name) && !name.startsWith(prefix) && !named.has(name)
}

/** The header fields of a forwarded request, names and values in turn. */
export const forwardedHeaders = (
  rawHeaders: ReadonlyArray<string>,
  connection: string | undefined,
  more: ReadonlyArray<string>,
): Array<string> => {
  const passes = passesOn(connection)
  const headers: Array<string> = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase()
    // The id of the request here is the one there.
    if (name !== "x-request-id" && passes(name)) headers.push(name, rawHeaders[index + 1]!)
  }
  headers.push(...more)
  return headers
}
