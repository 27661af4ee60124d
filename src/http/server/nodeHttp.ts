/**
 * The parts of Node's `http` that Laurel uses. An `import` of `node:http` reads all its exports,
 * among them `WebSocket`, for which Node then loads the client behind `fetch`. That takes longer
 * than the rest of `http`, at every start of every command.
 */
export const { createServer, IncomingMessage, request, STATUS_CODES } =
  process.getBuiltinModule("node:http")
