import { lstatSync, readdirSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { expect } from '@jest/globals';
import type { Stack } from './app.js';
import { eventually } from './sse.js';

const SETTLED_MS = 300;

/** What a refused request must leave as it was. Readiness rows and queue tables change by themselves and are left out. */
const STATE = `select json_build_object(
  'cities', (select json_agg(c order by c.id) from (select id, name, dir, running, phase, desired, suspended from cities) c),
  'streams', (select json_agg(s order by s.id) from (select id, name, head, floor, active from event_streams) s),
  'operations', (select json_agg(o order by o.id) from (select id, kind, state from operations) o),
  'reservations', (select count(*) from city_reservations),
  'directories', (select json_agg(d order by d.path) from (select path, city, kind, held from directories) d),
  'answers', (select count(*) from idempotency_keys),
  'keys', (select json_agg(k order by k.id) from (select id, name, scope, cities, revoked_at from api_keys) k)) as state`;

interface State {
  readonly cities: readonly { readonly name: string }[];
  readonly streams: readonly { readonly name: string }[];
  readonly directories: readonly { readonly city: string }[] | null;
  readonly keys: unknown;
  readonly files: readonly string[];
}

function within({ cities, streams, directories, keys, files: all }: State, city: string, root: string): object {
  const isOf = ({ name }: { readonly name: string }): boolean => name === city;
  return {
    cities: cities.filter(isOf),
    streams: streams.filter(isOf),
    directories: directories?.filter((directory) => directory.city === city),
    keys,
    files: all.filter((path) => path.startsWith(join(root, city))),
  };
}

export interface Witness {
  /**
   * Runs `request` and fails when anything of the product's state or files differs afterwards. `only` is asked then: a city, when
   * what others have may differ.
   */
  unchangedBy<T>(request: () => Promise<T>, only?: () => string | undefined): Promise<T>;
  /** When three looks in a row have seen the same: what an unregistered city leaves behind ends a moment later. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

export async function watchState(stack: Stack): Promise<Witness> {
  const client = new pg.Client({ connectionString: stack.databaseUrl, application_name: 'witness' });
  await client.connect();
  const look = async (): Promise<State> => {
    const { rows } = await client.query<{ state: State }>(STATE);
    return { ...rows[0]!.state, files: files(stack.citiesRoot) };
  };
  return {
    unchangedBy: async (request, only) => {
      let before: Partial<State> = await look();
      const result = await request();
      let after: Partial<State> = await look();
      const city = only?.();
      if (city !== undefined)
        [before, after] = [before, after].map((state) => within(state as State, city, stack.citiesRoot)) as [object, object];
      if (JSON.stringify(after) !== JSON.stringify(before)) expect(after).toEqual(before);
      return result;
    },
    settled: async () => {
      const seen: string[] = [];
      await eventually(async () => {
        seen.push(JSON.stringify(await look()));
        if (seen.length >= 3 && new Set(seen.slice(-3)).size === 1) return true;
        await sleep(SETTLED_MS);
        return false;
      });
    },
    close: () => client.end(),
  };
}

/**
 * Every file below the root with its size and time of change; no link is followed. Asked at once: a call through the pool of threads costs
 * twenty times as much.
 */
function files(root: string): string[] {
  const found: string[] = [];
  for (const entry of entries(root)) {
    const path = join(root, entry.name);
    const { size, mtimeMs } = lstatSync(path, { throwIfNoEntry: false }) ?? { size: -1, mtimeMs: 0 };
    if (entry.isDirectory()) found.push(path, ...files(path));
    else found.push(`${path} ${size} ${mtimeMs}`);
  }
  return found.sort();
}

function entries(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
