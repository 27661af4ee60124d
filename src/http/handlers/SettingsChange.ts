/** From the patch of a project to the change of its settings. */
import type { SettingsChange } from "../../domain/decide/Settings.ts"
import { canonicalTimeZone } from "../../domain/values/Calendar.ts"
import type { ProjectPatch } from "../api/ProjectSettings.ts"
import { named } from "./Shapes.ts"

export const settingsChange = ({
  clientActions,
  streaks,
  timezone,
  ...rest
}: typeof ProjectPatch.Type): SettingsChange =>
  named({
    ...rest,
    clientActions: clientActions === null ? [] : clientActions,
    timezone: timezone === undefined ? undefined : canonicalTimeZone(timezone),
    streaks: (streaks === null ? [] : streaks)?.map(({ actions = [], freezes = {}, key }) => {
      const { everyDays = null, initial = 0, max = initial } = freezes
      return { key, actions, freezes: { initial, max, everyDays } }
    }),
  })
