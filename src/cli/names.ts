import type { Api } from './api.js';

const LISTED = ['orders', 'formulas', 'providers', 'services', 'rigs', 'runs'] as const;
/** What the service knows by a name. */
export const NAMED = ['cities', 'keys', 'agents', 'beads', 'convoys', 'sessions', ...LISTED] as const;
export type Kind = (typeof NAMED)[number];

/** A name and what is behind it. */
export type Named = readonly [name: string, about: string];

/** Of a list so many are looked at. */
const MOST = 200;

/** What has a name of this kind; of a long list its first part. */
export async function namedOf({ client }: Api, cityName: string, kind: Kind, signal: AbortSignal): Promise<Named[]> {
  const path = { cityName };
  switch (kind) {
    case 'cities':
      return ((await client.get('/v0/cities', { signal })).items ?? []).map(({ name, path: dir }) => [name, dir]);
    case 'keys':
      return ((await client.get('/v0/keys', { signal })).items ?? []).map(({ id, name }) => [name, id]);
    case 'agents': {
      const { items } = await client.get('/v0/city/{cityName}/agents', { path, signal });
      // A pool is what is slung to and changed; its members come behind it.
      const found = (items ?? []).flatMap(({ name, pool, description: about = '' }): Named[] => [
        ...(pool === undefined ? [] : [[pool, about] as const]),
        [name, about],
      ]);
      return [...new Map(found)];
    }
    case 'beads':
      return ((await client.get('/v0/city/{cityName}/beads', { path, query: { limit: MOST }, signal })).items ?? []).map(
        ({ id, title }) => [id, title],
      );
    case 'convoys':
      return ((await client.get('/v0/city/{cityName}/convoys', { path, query: { limit: MOST }, signal })).items ?? []).map(
        ({ id, title }) => [id, title],
      );
    case 'sessions': {
      const { items } = await client.get('/v0/city/{cityName}/sessions', { path, query: { limit: MOST }, signal });
      return (items ?? []).flatMap(({ id, alias, title }): Named[] => [
        [id, title],
        ...(alias === undefined ? [] : [[alias, title] as const]),
      ]);
    }
    case 'orders':
      return ((await client.get('/v0/city/{cityName}/orders', { path, query: { limit: MOST }, signal })).orders ?? []).map(
        ({ scoped_name: name, description }) => [name, description ?? ''],
      );
    case 'formulas': {
      const query = { scope_kind: 'city', scope_ref: cityName, limit: MOST };
      const { items } = await client.get('/v0/city/{cityName}/formulas', { path, query, signal });
      return (items ?? []).map(({ name, description }) => [name, description ?? '']);
    }
    case 'providers':
      return ((await client.get('/v0/city/{cityName}/providers', { path, signal })).items ?? []).map(({ name, display_name: about }) => [
        name,
        about ?? '',
      ]);
    case 'services':
      return ((await client.get('/v0/city/{cityName}/services', { path, signal })).items ?? []).map(({ service_name, kind: what }) => [
        service_name,
        what ?? '',
      ]);
    case 'rigs':
      return ((await client.get('/v0/city/{cityName}/rigs', { path, signal })).items ?? []).map(({ name, path: dir }) => [name, dir]);
    case 'runs':
      return ((await client.get('/v0/city/{cityName}/runs', { path, query: { limit: MOST }, signal })).runs ?? []).map(
        ({ run_id: id, title }) => [id, title],
      );
  }
}
