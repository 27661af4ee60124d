/** `laurel accounts`: the accounts of the dashboard. */
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { AccountDetails } from "../../accounts/AccountAdmin.ts"
import { roles } from "../../domain/accounts/Account.ts"
import { commandFailed, exitCodes } from "../output/ExitCode.ts"
import { type Column, formatTable } from "../output/Table.ts"
import { withAccounts } from "../process/KeyAccess.ts"

const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print a JSON array"),
  Flag.withDefault(false),
)

const email = Argument.String("EMAIL").pipe(
  Argument.withDescription("The account's e-mail address"),
)

const rolesText = (account: AccountDetails): string =>
  account.roles
    .map(({ project, role }) => (project === null ? role : `${role} of ${project}`))
    .join(", ")

const columns: ReadonlyArray<Column<AccountDetails>> = [
  { title: "EMAIL", align: "left", text: (account) => account.email },
  { title: "NAME", align: "left", text: (account) => account.name },
  { title: "ACCESS", align: "left", text: rolesText },
  { title: "CREATED", align: "left", text: (account) => account.createdAt.slice(0, 10) },
]

const list = Command.make(
  "list",
  { json },
  Effect.fnUntraced(function* ({ json }) {
    const accounts = yield* withAccounts((accounts) => accounts.list)
    yield* Console.log(json ? JSON.stringify(accounts) : formatTable(columns, accounts))
  }),
).pipe(Command.withDescription("List all accounts, oldest first"))

/** Prints only the link on standard output, for scripts. */
const printLink = (
  request: Parameters<Parameters<Parameters<typeof withAccounts>[0]>[0]["createLink"]>[0],
  about: string,
) =>
  Effect.gen(function* () {
    const link = yield* withAccounts((accounts) =>
      Effect.map(accounts.createLink(request), ({ path }) => accounts.address + path),
    )
    yield* Console.log(link)
    yield* Console.error(about)
  })

const invite = Command.make(
  "invite",
  {
    role: Flag.Literals("role", roles).pipe(
      Flag.withDescription(
        "owner (everything, accounts too), admin (a project, its keys too) or viewer (a project, read only)",
      ),
    ),
    project: Flag.String("project").pipe(
      Flag.withMetavar("NAME"),
      Flag.withDescription("The project of an admin or a viewer"),
      Flag.optional,
    ),
    email: Argument.String("EMAIL").pipe(
      Argument.withDescription(
        "The e-mail address of the person, who can join with this address only",
      ),
    ),
  },
  Effect.fnUntraced(function* ({ email, project, role }) {
    if ((role === "owner") === Option.isSome(project)) {
      const words =
        role === "owner"
          ? "An owner has all projects: leave out --project."
          : `Name the project of the ${role} with --project.`
      return yield* commandFailed(exitCodes.usage, words)
    }
    yield* printLink(
      {
        purpose: "join",
        email,
        role,
        ...(Option.isSome(project) && { project: project.value }),
      },
      "Send the link to the person it is for. It works once, within three days.",
    )
  }),
).pipe(Command.withDescription("Print a link with which one person joins"))

const resetPassword = Command.make(
  "reset-password",
  { email },
  Effect.fnUntraced(function* ({ email }) {
    yield* printLink(
      { purpose: "reset", email },
      "The link sets a new password and ends all sessions of the account. It works once, within an hour.",
    )
  }),
).pipe(
  Command.withDescription(
    "Print a link that sets a new password, for an account that is locked out",
  ),
)

const remove = Command.make(
  "remove",
  { email },
  Effect.fnUntraced(function* ({ email }) {
    yield* withAccounts((accounts) => accounts.remove(email))
    yield* Console.error(`Removed ${email}.`)
  }),
).pipe(Command.withDescription("Delete an account and end its sessions; API keys stay"))

export const accounts = Command.make("accounts").pipe(
  Command.withDescription(
    "Manage accounts of the dashboard, through the running server or, if no server runs, in the data directory",
  ),
  Command.withSubcommands([list, invite, resetPassword, remove]),
)
