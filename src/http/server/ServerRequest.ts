/**
 * A request whose body goes from Node's parser directly to its reader. Reading a body through
 * stream events costs three more rounds of `process.nextTick` and the state of a stream, though
 * most bodies arrive in one piece together with their head.
 *
 * The rest of a refused body passes through the stream, where `discardBody` counts it. After a body
 * was read, the request is closed as Node closes requests without a body: nothing waits for the end
 * of the stream.
 */
import type { BodyReader, BodySource } from "../body/Body.ts"
import { IncomingMessage } from "./nodeHttp.ts"

/** A method of Node that is not in its types. */
interface Closable {
  readonly _dumpAndCloseReadable: () => void
}

export class ServerRequest extends IncomingMessage implements BodySource {
  #reader: BodyReader | undefined = undefined
  /** The address of the peer, for a request that another runner forwarded. */
  forwardedPeer: string | undefined = undefined

  readTo(reader: BodyReader): boolean {
    if (this.complete || this.readableLength > 0) return false
    this.#reader = reader
    return true
  }

  /** Called by the parser; `null` is the end. */
  override push(chunk: Buffer | null): boolean {
    const reader = this.#reader
    if (reader === undefined) return super.push(chunk)
    if (chunk === null) {
      this.#reader = undefined
      ;(this as unknown as Closable)._dumpAndCloseReadable()
      reader.end()
      return true
    }
    const refusal = reader.take(chunk)
    if (refusal !== undefined) {
      this.#reader = undefined
      this.resume()
      reader.refuse(refusal)
    }
    return true
  }
}
