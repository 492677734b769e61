import { adminAt } from './database.js';

/** An order of a city that examples are asked about. */
export const ORDER = '[order]\nexec = "true"\ntrigger = "manual"\n';

/** A firing that is over. Answers its id. */
export async function makeFiring(databaseUrl: string, city: string): Promise<string> {
  const [row] = await adminAt<{ id: string }>(
    databaseUrl,
    `insert into order_firings (id, stream_id, scoped_name, name, rig, definition, cause, actor, state, created_at, finished_at, outcome, output)
     select 'firing-' || lpad(id::text, 24, '0'), id, 'tidy', 'tidy', '', '{"exec":"true"}', 'run', 'api', 'done', now(), now(), 'success', 'done'
     from event_streams where name = '${city}' returning id`,
  );
  return row!.id;
}

/** A path of the family with its parameters filled, and the query that it demands; others stay as they are. */
export function orderPath(path: string, city: string): string {
  if (path.endsWith('/orders/history')) return `${path}?scoped_name=tidy`;
  if (path.endsWith('/orders/feed')) return `${path}?scope_kind=city&scope_ref=${city}`;
  return path.replace('/order/{name}', '/order/tidy');
}

/** Uses every mutation of the family once, to good effect. */
export async function useOrders(ask: (method: string, path: string, body?: object) => Promise<unknown>): Promise<void> {
  await ask('POST', 'order/tidy/disable');
  await ask('POST', 'order/tidy/enable');
  await ask('POST', 'order/tidy/run', {});
}
