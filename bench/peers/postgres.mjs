/** Events in PostgreSQL: one call of a stored function for each event, or for each batch. */
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import pg from "pg"
import postgres from "postgres"
import { slicesOf } from "./slices.mjs"

const schema = `
create table users (user_id text primary key, xp bigint not null, events bigint not null) with (fillfactor = 70);
create table events (
  event_id text primary key, user_id text not null, at timestamptz not null, action text not null, metadata jsonb not null,
  xp int not null, total bigint not null
);
create index on events (user_id, at);
create table scores (
  board text not null, user_id text not null, xp bigint not null, reached timestamptz not null,
  primary key (board, user_id)
) with (fillfactor = 70);
create index on scores (board, xp desc, reached);

create function level_of(xp bigint) returns int language sql immutable as $$ select 1 + floor(sqrt(xp / 100.0))::int $$;

create function track(
  e_id text, e_user text, e_action text, e_metadata jsonb, e_at timestamptz, e_xp int, e_day text, e_week text,
  out total bigint, out duplicate boolean
) language plpgsql as $$
begin
  select events.total into track.total from events where event_id = e_id;
  duplicate := found;
  if found then return; end if;
  insert into users values (e_user, e_xp, 1)
    on conflict (user_id) do update set xp = users.xp + excluded.xp, events = users.events + 1
    returning users.xp into track.total;
  insert into events values (e_id, e_user, e_at, e_action, e_metadata, e_xp, track.total);
  insert into scores values ('all', e_user, e_xp, e_at), (e_day, e_user, e_xp, e_at), (e_week, e_user, e_xp, e_at)
    on conflict (board, user_id) do update set xp = scores.xp + excluded.xp, reached = excluded.reached;
end $$;

create function track_all(commands jsonb) returns table (place bigint, total bigint, duplicate boolean)
language plpgsql as $$
declare one jsonb;
begin
  -- In the order of users, so that batches that meet wait for each other instead of ending in a deadlock.
  for one, place in
    select value, ordinality from jsonb_array_elements(commands) with ordinality order by value->>'userId', ordinality
  loop
    select t.total, t.duplicate into track_all.total, track_all.duplicate from track(
      one->>'id', one->>'userId', one->>'action', one->'metadata', (one->>'at')::timestamptz, (one->>'xp')::int,
      one->>'day', one->>'week') t;
    return next;
  end loop;
end $$;`

const trackText = "select total, duplicate from track($1, $2, $3, $4, $5, $6, $7, $8)"
const trackAllText = "select total, duplicate from track_all($1) order by place"
const userText = "select user_id, xp from users where user_id = $1"
const pageText = `select user_id, xp from scores where board = 'all' order by xp desc, reached offset $1 limit $2`
const sumText = "select coalesce(sum(xp), 0) as sum from users"

/**
 * `query(name, text, values)` resolves with rows; each statement is prepared once for each
 * connection.
 */
const openPg = async ({ connections, socket }) => {
  const pool = new pg.Pool({ host: socket, user: "bench", database: "postgres", max: connections })
  return {
    query: async (name, text, values) => (await pool.query({ name, text, values })).rows,
    many: (text) => pool.query(text),
  }
}

/** Sends further queries over a connection before the replies to those before them. */
const openPostgresJs = async ({ connections, socket }) => {
  const sql = postgres({ host: socket, user: "bench", database: "postgres", max: connections })
  return {
    query: (_name, text, values) => sql.unsafe(text, values, { prepare: true }),
    many: (text) => sql.unsafe(text),
    /** COPY of rows of tables, in one transaction. */
    copy: (tables) =>
      sql.begin(async (transaction) => {
        for (const [table, rows] of Object.entries(tables)) {
          const target = await transaction.unsafe(`copy ${table} from stdin`).writable()
          await pipeline(Readable.from(rows), target)
        }
      }),
  }
}

/** Rows as COPY reads them; nothing in them needs an escape. */
function* linesOf(commands, rowsOf) {
  for (const slice of slicesOf(commands)) {
    const rows = slice.flatMap(rowsOf)
    yield rows.map((row) => `${row.join("\t")}\n`).join("")
  }
}

const levelOf = (xp) => 1 + Math.floor(Math.sqrt(xp / 100))

export const openPostgres = async (options) => {
  const { copy, many, query } = await (options.driver === "pg" ? openPg : openPostgresJs)(options)
  if (!options.again) await many(schema)
  const applied = (row, xp) => {
    const total = Number(row.total)
    return { duplicate: row.duplicate, total, before: levelOf(total - xp), after: levelOf(total) }
  }
  return {
    track: async ({ action, at, day, id, metadata, userId, week, xp }) => {
      const values = [id, userId, action, metadata, at, xp, day, week]
      return applied((await query("track", trackText, values))[0], xp)
    },
    trackAll: async (commands) => {
      const json = options.driver === "pg" ? JSON.stringify(commands) : commands
      const rows = await query("trackAll", trackAllText, [json])
      return rows.map((row, index) => applied(row, commands[index].xp))
    },
    user: async (userId) => {
      const [row] = await query("user", userText, [userId])
      return row && { userId, xp: Number(row.xp), level: levelOf(Number(row.xp)) }
    },
    page: async (offset, limit) => {
      const rows = await query("page", pageText, [offset, limit])
      return rows.map(({ user_id, xp }, index) => {
        return {
          rank: offset + index + 1,
          userId: user_id,
          xp: Number(xp),
          level: levelOf(Number(xp)),
        }
      })
    },
    load: (newUsers) =>
      copy({
        users: linesOf(newUsers(), ({ userId, xp }) => [[userId, xp, 1]]),
        events: linesOf(newUsers(), ({ action, at, id, metadata, userId, xp }) => [
          [id, userId, at.toISOString(), action, JSON.stringify(metadata), xp, xp],
        ]),
        scores: linesOf(newUsers(), ({ at, day, userId, week, xp }) =>
          ["all", day, week].map((board) => [board, userId, xp, at.toISOString()]),
        ),
      }),
    settle: async () => {
      await many("vacuum analyze")
      await many("checkpoint")
    },
    totalXp: async () => Number((await query("sum", sumText, []))[0].sum),
  }
}
