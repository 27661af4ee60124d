/** An authenticator in software: what a browser with a passkey answers, with every part that a test may want wrong. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto"

/** CBOR (RFC 8949) of what authenticators send: integers, texts, bytes, maps. */
const cbor = (value: number | string | Buffer | ReadonlyMap<number | string, unknown>): Buffer => {
  const head = (major: number, count: number) => {
    if (count < 24) return Buffer.from([(major << 5) | count])
    if (count < 256) return Buffer.from([(major << 5) | 24, count])
    return Buffer.from([(major << 5) | 25, count >> 8, count & 255])
  }
  if (typeof value === "number") return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === "string") {
    const bytes = Buffer.from(value)
    return Buffer.concat([head(3, bytes.length), bytes])
  }
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  const entries = [...value].flatMap(([key, one]) => [cbor(key), cbor(one as never)])
  return Buffer.concat([head(5, value.size), ...entries])
}

const sha256 = (data: Buffer | string) => createHash("sha256").update(data).digest()
const text = (bytes: Buffer) => bytes.toString("base64url")

const flags = { present: 1, verified: 4, attested: 64 }

/** The untrue parts of an answer. */
export interface Lies {
  readonly origin?: string
  readonly rpId?: string
  readonly challenge?: string
  readonly type?: string
  readonly verified?: boolean
  readonly userHandle?: string | null
  /** The algorithm that the new key claims. */
  readonly algorithm?: number
  readonly signature?: Buffer
}

interface CreationOptions {
  readonly challenge: string
  readonly rp: { readonly id?: string }
  readonly user: { readonly id: string }
}

interface RequestOptions {
  readonly challenge: string
  readonly rpId?: string
}

export class Authenticator {
  readonly #origin: string
  #keys: { readonly privateKey: KeyObject; readonly publicKey: KeyObject } | undefined
  #id = randomBytes(16)
  #userHandle = ""
  /** Signatures so far; 0 for a passkey that does not count, as synced ones. */
  counter = 0

  /** An authenticator with no passkey yet, in a browser on a page of `origin`. */
  constructor(origin: string) {
    this.#origin = origin
  }

  get id(): string {
    return text(this.#id)
  }

  /** The same passkey in another authenticator, as a thief would copy it. */
  copy(): Authenticator {
    const copy = new Authenticator(this.#origin)
    copy.#keys = this.#keys
    copy.#id = this.#id
    copy.#userHandle = this.#userHandle
    copy.counter = this.counter
    return copy
  }

  /** The answer to `navigator.credentials.create`, as JSON. */
  create(options: CreationOptions, lies: Lies = {}): string {
    this.#keys = generateKeyPairSync("ec", { namedCurve: "P-256" })
    this.#id = randomBytes(16)
    this.#userHandle = options.user.id
    return this.recreate(options, lies)
  }

  /** Registers the same passkey again, which no browser does. */
  recreate(options: CreationOptions, lies: Lies = {}): string {
    const { x, y } = this.#keys!.publicKey.export({ format: "jwk" })
    const key = new Map<number, unknown>([
      [1, 2],
      [3, lies.algorithm ?? -7],
      [-1, 1],
      [-2, Buffer.from(x!, "base64url")],
      [-3, Buffer.from(y!, "base64url")],
    ])
    const data = Buffer.concat([
      this.#data(options.rp.id!, flags.attested, lies),
      Buffer.alloc(16),
      Buffer.from([0, this.#id.length]),
      this.#id,
      cbor(key),
    ])
    const attestation = new Map<string, unknown>([
      ["fmt", "none"],
      ["attStmt", new Map()],
      ["authData", data],
    ])
    return this.#answer({
      clientDataJSON: this.#clientData("webauthn.create", options.challenge, lies),
      attestationObject: text(cbor(attestation)),
      transports: ["internal", "hybrid"],
    })
  }

  /** The answer to `navigator.credentials.get`, as JSON. */
  use(options: RequestOptions, lies: Lies = {}): string {
    const data = this.#data(options.rpId!, 0, lies)
    const clientDataJSON = this.#clientData("webauthn.get", options.challenge, lies)
    const signed = Buffer.concat([data, sha256(Buffer.from(clientDataJSON, "base64url"))])
    return this.#answer({
      clientDataJSON,
      authenticatorData: text(data),
      signature: text(lies.signature ?? sign("sha256", signed, this.#keys!.privateKey)),
      userHandle: lies.userHandle === undefined ? this.#userHandle : lies.userHandle,
    })
  }

  #answer(response: object): string {
    const id = text(this.#id)
    return JSON.stringify({ id, rawId: id, type: "public-key", response, unknown: { field: 1 } })
  }

  #data(rpId: string, more: number, { rpId: lie, verified = true }: Lies): Buffer {
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(this.counter)
    const flag = flags.present | (verified ? flags.verified : 0) | more
    return Buffer.concat([sha256(lie ?? rpId), Buffer.from([flag]), counter])
  }

  #clientData(type: string, challenge: string, lies: Lies): string {
    const data = {
      type: lies.type ?? type,
      challenge: lies.challenge ?? challenge,
      origin: lies.origin ?? this.#origin,
      crossOrigin: false,
    }
    return text(Buffer.from(JSON.stringify(data)))
  }
}
