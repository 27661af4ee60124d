/** What the API shows of an experiment that a user entered. */
import { Schema } from "effect"

export const enteredExperiment = {
  experimentId: "exp_01a1fc1e64c07345932e273286b5ca30",
  key: "daily-goal",
  name: "Daily goal",
  variant: "goal",
} as const

const text = (description: string, example: string) =>
  Schema.String.annotate({ description, examples: [example] })

const exposed = {
  experimentId: text("The experiment's id.", enteredExperiment.experimentId),
  key: text("The experiment's key.", enteredExperiment.key),
  name: text("The experiment's name.", enteredExperiment.name),
  variant: text("The key of the user's variant.", enteredExperiment.variant),
}

/** An experiment that a user entered, with the variant. */
export const EnteredExperiment = Schema.Struct(exposed).annotate({
  identifier: "EnteredExperiment",
  description: "An experiment that the user entered.",
  examples: [enteredExperiment],
})
