/** The pages of mechanics, and their tables as files. */
import { Effect } from "effect"
import { csvFile } from "../../request/csvFile.ts"
import { type PlaceVisit, placePage, type Route } from "../../request/Route.ts"
import { chosenIn, daysOf, listPage } from "./list.ts"
import { mechanicPage, paramsOf } from "./mechanic.ts"

const savedList = (visit: PlaceVisit) =>
  csvFile(
    visit,
    "mechanics",
    visit.open("analytics.mechanics", {
      query: { ...chosenIn(visit), days: String(daysOf(visit)), limit: "1000", format: "csv" },
    }),
  )

const savedDays = (visit: PlaceVisit) =>
  Effect.flatMap(paramsOf(visit), (params) =>
    csvFile(
      visit,
      params.kind,
      visit.open("analytics.mechanic", {
        params,
        query: { days: String(daysOf(visit)), format: "csv" },
      }),
    ),
  )

export const mechanicRoutes: ReadonlyArray<Route> = [
  placePage("/mechanics", listPage),
  placePage("/mechanics.csv", savedList),
  placePage("/mechanics/:mechanicKind/:mechanic", mechanicPage),
  placePage("/mechanics/:mechanicKind/:mechanic/days.csv", savedDays),
]
