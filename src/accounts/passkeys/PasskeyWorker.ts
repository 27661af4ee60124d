/** Checks answers about passkeys in a thread of its own. The thread has no state between checks. */
import {
  type AuthenticationResponseJSON,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from "@simplewebauthn/server"
import { answerQuestions } from "../../storage/Channel.ts"
import { type PasskeyCheck, type PasskeyOutcome, passkeyAlgorithms } from "./PasskeyThread.ts"

const transportsMax = 8
const reasonCharactersMax = 200

const checked = async (check: PasskeyCheck): Promise<PasskeyOutcome> => {
  const expected = {
    expectedChallenge: check.challenge,
    expectedOrigin: check.origin,
    expectedRPID: check.rpId,
    requireUserVerification: true,
  }
  if (check.kind === "new") {
    const { registrationInfo, verified } = await verifyRegistrationResponse({
      ...expected,
      response: { ...check.answer, clientExtensionResults: {} } as RegistrationResponseJSON,
      supportedAlgorithmIDs: [...passkeyAlgorithms],
    })
    if (!verified) return refused("The attestation is wrong")
    const { counter, id, publicKey } = registrationInfo.credential
    const { transports = [] } = check.answer.response
    const known = transports.filter((one) => /^[a-z-]{1,20}$/.test(one)).slice(0, transportsMax)
    const key = Buffer.from(publicKey).toString("base64url")
    return { kind: "new", passkey: { id, publicKey: key, counter, transports: known } }
  }
  const { authenticationInfo, verified } = await verifyAuthenticationResponse({
    ...expected,
    response: { ...check.answer, clientExtensionResults: {} } as AuthenticationResponseJSON,
    // The directory compares the counters, because only it knows the latest counter.
    credential: {
      id: check.answer.id,
      publicKey: new Uint8Array(Buffer.from(check.publicKey, "base64url")),
      counter: 0,
    },
  })
  return verified
    ? { kind: "used", counter: authenticationInfo.newCounter }
    : refused("The signature is wrong")
}

const refused = (reason: string): PasskeyOutcome => ({
  kind: "refused",
  reason: reason.slice(0, reasonCharactersMax),
})

answerQuestions<PasskeyCheck, PasskeyOutcome>((check) =>
  checked(check).catch((error: unknown) =>
    refused(error instanceof Error ? error.message : String(error)),
  ),
)
