import { cityName, withClient } from './database.js';

/** A session of a city that a runner holds, made without any agent. @returns its key. */
export async function liveSession(url: string, id: string, city = cityName(1)): Promise<number> {
  return withClient(url, async (client) => {
    await client.query(
      `insert into runners (id, process_id, host, capacity, state, lease_until)
       values ('bench', 'p', 'h', 100, 'active', now() + interval '1 day') on conflict do nothing`,
    );
    const { rows } = await client.query<{ pk: string }>(
      `insert into sessions (stream_id, id, session_name, title, kind, template, provider, origin, created_by, state, generation, runner_id, live)
       select s.id, $2, $2, 'bench', 'provider', 'loopback', 'loopback', 'manual', 'bench', 'active', 1, 'bench', true
       from event_streams s where s.name = $1 returning pk`,
      [city, id],
    );
    const pk = Number(rows[0]!.pk);
    await client.query('insert into session_logs (session_pk, generation) values ($1, 1)', [pk]);
    return pk;
  });
}

/** Fills a session's transcript with so many messages of ordinary length. */
export async function fillTranscript(url: string, pk: number, entries: number): Promise<void> {
  await withClient(url, async (client) => {
    await client.query('set synchronous_commit = off');
    await client.query(
      `insert into session_entries (session_pk, seq, rev, entry_id, epoch, generation, turn, kind, role, status, blocks)
       select $1, g, g, '1.' || g, 1, 1, (g + 1) / 2, 'message', case g % 2 when 1 then 'user' else 'assistant' end, 'final',
              jsonb_build_array(jsonb_build_object('type', 'text', 'text', 'message ' || g || repeat(' of some length', 20)))
       from generate_series(1, $2::bigint) g`,
      [pk, entries],
    );
    await client.query('update session_logs set head = $2::bigint, entries = $2::bigint, turns = $2::bigint / 2 where session_pk = $1', [
      pk,
      entries,
    ]);
  });
  await withClient(url, (client) => client.query('vacuum analyze session_entries, session_logs, sessions'));
}
