/**
 * The parts of Node's `http` that Laurel uses, unchanged. An import of the module itself would read all that it exports, also
 * what Node loads only when it is read (`WebSocket` with the client behind `fetch`): that takes longer than the rest
 * of `http`, at every start of every command.
 */
export const { createServer, IncomingMessage, request, STATUS_CODES } =
  process.getBuiltinModule("node:http")
