/**
 * A user in the audit log: a hash under the directory's secret (hex), since entries outlive an erasure by far. Whoever has the id and
 * the server finds the entries; nobody finds the id by the entries.
 */
import { createHmac } from "node:crypto"

const hexCharacters = 32

export const userSubject = (secret: string | null, environment: string, userId: string): string => {
  const hmac = createHmac("sha256", Buffer.from(secret ?? "", "hex"))
  return `user_${hmac.update(`audit\n${environment}\n${userId}`).digest("hex").slice(0, hexCharacters)}`
}
