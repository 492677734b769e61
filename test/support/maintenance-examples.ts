import { adminAt } from './database.js';
import { eventually } from './sse.js';

/** What a city's file says that wants maintenance. */
export const MAINTENANCE = '\n[maintenance.dolt]\nenabled = true\n';

/** A city whose files will say that has no cycle of its own accord: what nobody has asked for would be seen to change. */
export async function restMaintenance(databaseUrl: string, city: string): Promise<void> {
  await adminAt(
    databaseUrl,
    `insert into maintenance_cities (stream_id, revision, settings, next_at)
     select c.stream_id, s.revision, '{"intervalMs": 604800000, "timeoutMs": 600000}', now() + interval '1 year'
     from cities c join config_states s using (stream_id) where c.name = '${city}'
     on conflict (stream_id) do update set revision = excluded.revision, settings = excluded.settings, next_at = excluded.next_at`,
  );
}

/** Uses the mutation of the family to good effect: once nothing of it goes on, or is about to. */
export async function useMaintenance(ask: (method: string, path: string) => Promise<Record<string, unknown>>): Promise<void> {
  await eventually(async () => {
    const { in_flight: busy, next_scheduled: next } = await ask('GET', 'maintenance/status');
    return busy === false && next !== undefined && Date.parse(next as string) > Date.now() + 60_000;
  });
  await ask('POST', 'maintenance/dolt-gc?wait=true');
}
