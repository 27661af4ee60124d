/**
 * Hashes and checks passwords with argon2id on Node's thread pool. Few run at a time, because
 * ingestion shares the pool and the processor. A hash is stored as a PHC string with its
 * parameters. When a later version raises the cost, the next sign-in hashes the password again.
 * Parameters: OWASP Password Storage Cheat Sheet (19 MiB, 2 passes, 1 lane).
 */
import { argon2, randomBytes, timingSafeEqual } from "node:crypto"
import { Effect, Semaphore } from "effect"
import { type Fault, type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { characterCount } from "../../domain/values/Ids.ts"
import { limits } from "../../Limits.ts"
import { CheckThread, startCheckWorker } from "../CheckThread.ts"

interface Cost {
  /** KiB. */
  readonly memory: number
  readonly passes: number
  readonly parallelism: number
}

const cost: Cost = { memory: 19 * 1024, passes: 2, parallelism: 1 }
const saltBytes = 16
const tagBytes = 32
const phcPattern = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

export interface Checked {
  readonly matches: boolean
  /** The password's hash at the present cost; absent if the stored hash has that cost. */
  readonly rehashed?: string
}

/** Who causes a hash. Strangers cannot fill the places of people whom the server knows. */
export type Asking = "known" | "stranger"

export class Passwords {
  readonly #running = Semaphore.makeUnsafe(limits.passwordHashesConcurrentMax)
  #waiting = 0
  /** Checked if there is no account, so that the answer takes as long as with one. */
  readonly #nobody = phcOf(cost, randomBytes(saltBytes), randomBytes(tagBytes))

  /**
   * The PHC string of a known person's password. Fails with `overloaded` if too many hashes wait.
   */
  hash(password: string): Effect.Effect<string, LaurelError> {
    return Effect.suspend(() => {
      const salt = randomBytes(saltBytes)
      return Effect.map(this.#derive(password, salt, cost, "known"), (tag) =>
        phcOf(cost, salt, tag),
      )
    })
  }

  /** Whether `phc` is the hash of `password`. Without `phc` it is not, after the same time. */
  check(password: string, phc: string | null, asking: Asking): Effect.Effect<Checked, LaurelError> {
    if (phc === null) {
      return Effect.as(this.check(password, this.#nobody, asking), { matches: false })
    }
    return Effect.gen({ self: this }, function* () {
      const [, memory, passes, parallelism, salt, tag] = phcPattern.exec(phc) ?? []
      if (tag === undefined) return { matches: false }
      const kept = {
        memory: Number(memory),
        passes: Number(passes),
        parallelism: Number(parallelism),
      }
      const expected = Buffer.from(tag, "base64")
      const derived = yield* this.#derive(password, Buffer.from(salt!, "base64"), kept, asking)
      if (derived.length !== expected.length || !timingSafeEqual(derived, expected)) {
        return { matches: false }
      }
      const same = kept.memory === cost.memory && kept.passes === cost.passes
      return same ? { matches: true } : { matches: true, rehashed: yield* this.hash(password) }
    })
  }

  #derive(
    password: string,
    nonce: Buffer,
    parameters: Cost,
    asking: Asking,
  ): Effect.Effect<Buffer, LaurelError> {
    return Effect.suspend(() => {
      const reserved = asking === "known" ? limits.passwordHashesOfKnownMax : 0
      if (this.#waiting >= limits.passwordHashesWaitingMax + reserved) {
        return Effect.fail(
          laurelError("overloaded", "Too many people are signing in. Try again in a second.", {
            retryAfterSeconds: 1,
          }),
        )
      }
      this.#waiting++
      const message = messageOf(password)
      const derived = Effect.callback<Buffer>((resume) => {
        argon2("argon2id", { message, nonce, tagLength: tagBytes, ...parameters }, (error, tag) =>
          resume(error === null ? Effect.succeed(tag) : Effect.die(error)),
        )
      })
      return Effect.ensuring(
        Semaphore.withPermit(this.#running, derived),
        Effect.sync(() => this.#waiting--),
      )
    })
  }
}

const phcOf = ({ memory, parallelism, passes }: Cost, salt: Buffer, tag: Buffer): string =>
  `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(tag)}`

const unpadded = (bytes: Buffer): string => bytes.toString("base64").replaceAll("=", "")

/**
 * The most UTF-16 units that a password has in any canonical form: a character decomposes to at most
 * four characters, or to three of two units each.
 */
const passwordUnitsMax = 8 * limits.passwordCharactersMax

/**
 * The bytes to hash. The time of normalization grows with the square of a run of combining marks: a
 * second for a form full of them, a millisecond up to the bound. A longer text is not normalized:
 * no account has such a password, so it matches none.
 */
const messageOf = (password: string): Buffer =>
  Buffer.from(password.length > passwordUnitsMax ? password : password.normalize("NFKC"))

/**
 * A message to the thread that estimates passwords. The answer is the decimal logarithm of the
 * number of guesses.
 */
export interface PasswordEstimate {
  readonly password: string
  /** Words that a guesser would try first, such as the address and the name. */
  readonly about: ReadonlyArray<string>
}

const startPasswordWorker = () => startCheckWorker(new URL("./PasswordWorker.ts", import.meta.url))

/** Refuses chosen passwords that withstand too few guesses. */
export class PasswordStrength {
  readonly #thread = new CheckThread<PasswordEstimate, number>(startPasswordWorker)

  /** The faults of a password that somebody with this address and name chooses. */
  faults(
    password: string,
    { email, name }: { readonly email: string; readonly name: string },
  ): Effect.Effect<ReadonlyArray<Fault>, LaurelError> {
    const fault = (code: string, detail: string) => [{ pointer: "/password", code, detail }]
    const { passwordCharactersMax: most, passwordCharactersMin: least } = limits
    const length = characterCount(password)
    if (length < least || length > most) {
      return Effect.succeed(fault("invalid_length", `must have ${least} to ${most} characters`))
    }
    const about = [email, ...email.split(/[^\p{L}\p{N}]+/u), name, ...name.split(/\s+/), "laurel"]
    return Effect.map(
      this.#thread.check({
        password,
        about: about.slice(0, aboutMax).map((text) => text.slice(0, limits.emailCharactersMax)),
      }),
      (guessesLog10) =>
        guessesLog10 >= limits.passwordGuessesLog10Min ? [] : fault("invalid_value", tooEasy),
    )
  }
}

const aboutMax = 50
const tooEasy =
  "is too easy to guess: use a few words that do not belong together, or let a password manager make one"
