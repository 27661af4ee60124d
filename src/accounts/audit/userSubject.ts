/**
 * The name of a user in the audit log: a hash of the id under the directory's secret (hex), because
 * entries outlive an erasure by far. With the id and the server somebody can find a user's entries.
 * The entries alone do not reveal the id.
 */
import { createHmac } from "node:crypto"

const hexCharacters = 32

export const userSubject = (secret: string | null, environment: string, userId: string): string => {
  const hmac = createHmac("sha256", Buffer.from(secret ?? "", "hex"))
  return `user_${hmac.update(`audit\n${environment}\n${userId}`).digest("hex").slice(0, hexCharacters)}`
}
