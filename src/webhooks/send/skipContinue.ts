/**
 * Skips what a receiver says with `100 Continue`, though nobody has asked it to: undici would end the connection.
 * Such a reply is recognised where a piece of what was received begins with it. (A reply's body of which a piece
 * begins like that loses it, which is of no consequence: what counts is the status.) Nothing is kept.
 */
import type { Socket } from "node:net"

const continues = Buffer.from("HTTP/1.1 100")
const digitAt = continues.length - 3
const end = Buffer.from("\r\n\r\n")

/** Makes `socket.read`, by which undici reads, leave them out. */
export const skipContinue = (socket: Socket): void => {
  const read = socket.read.bind(socket)
  /** How much of the end of such a reply was seen; undefined outside of one. */
  let seen: number | undefined
  /** What is left of a piece. */
  const without = (piece: Buffer): Buffer => {
    let from = 0
    while (from < piece.length) {
      if (seen === undefined) {
        // Most pieces are told apart by one byte.
        if (piece[from + digitAt] !== continues[digitAt]) break
        if (!piece.subarray(from, from + continues.length).equals(continues)) break
        from += continues.length
        seen = 0
      }
      while (from < piece.length && seen < end.length) {
        const byte = piece[from++]
        seen = byte === end[seen] ? seen + 1 : byte === end[0] ? 1 : 0
      }
      if (seen === end.length) seen = undefined
    }
    return piece.subarray(from)
  }
  socket.read = (size?: number) => {
    while (true) {
      const piece: Buffer | null = read(size)
      if (piece === null) return null
      const left = without(piece)
      if (left.length > 0) return left
    }
  }
}
