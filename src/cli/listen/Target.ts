/** Where `laurel listen` forwards messages, and with which secret it signs them. */
import { createHmac } from "node:crypto"
import { Result } from "effect"

/** The receiver's URL: a whole one, or without its scheme (`localhost:3000/hook`), or a port of this machine. */
export const parseTarget = (text: string): Result.Result<URL, string> => {
  const whole = /^\d{1,5}$/.test(text)
    ? `http://localhost:${text}`
    : /^[a-z][a-z\d+.-]*:\/\//i.test(text)
      ? text
      : `http://${text}`
  const url = URL.parse(whole)
  return url === null || !/^https?:$/.test(url.protocol) || url.username || url.password
    ? Result.fail("must be an http or https URL without credentials, such as localhost:3000/hook")
    : Result.succeed(url)
}

/** Always the same for the same key, so that it stays in the receiver's settings; nobody has it without the key. */
export const secretFor = (key: string): string =>
  `whsec_${createHmac("sha256", key).update("laurel listen").digest("base64")}`
