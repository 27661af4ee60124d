/** Live bytes on V8's heap and in buffers outside of it. Needs `node --expose-gc`. */
export const heapBytes = (): number => {
  if (globalThis.gc === undefined) throw new Error("Memory needs node --expose-gc")
  globalThis.gc()
  globalThis.gc()
  const { external, heapUsed } = process.memoryUsage()
  return heapUsed + external
}
