/** The shapes of user tokens. */
import { Schema } from "effect"
import { limits } from "../../Limits.ts"
import { integer } from "./Checks.ts"
import { Time } from "./Common.ts"
import { tokenRequest, userToken } from "./examples/Users.ts"

export const TokenRequest = Schema.Struct({
  expiresInSeconds: Schema.optionalKey(
    integer(limits.userTokenSecondsMin, limits.userTokenSecondsMax).annotate({
      description: `Lifetime of the token. Default ${limits.userTokenSeconds}. The token ends no later than your key.`,
      examples: [900],
    }),
  ),
}).annotate({
  identifier: "TokenRequest",
  description: "A token to make.",
  examples: [tokenRequest],
})

export const UserToken = Schema.Struct({
  token: Schema.String.annotate({
    description:
      "The token: a JSON Web Token, whose `exp` is the expiry. Send it in place of a key, as `Authorization: Bearer <token>`.",
    examples: [userToken.token],
  }),
  expiresAt: Time,
}).annotate({
  identifier: "UserToken",
  description: "A token of a user.",
  examples: [userToken],
})
