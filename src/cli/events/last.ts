import { ask, type Api } from '../api.js';
import { age } from '../duration.js';
import { harmlessLine } from '../harmless.js';
import { block, columns } from '../table.js';

const SHOWN = 5;

/** The last that the log says of something, the newest at the end; nothing where it says nothing. */
export async function lastEvents(api: Api, cityName: string, subject: string): Promise<string> {
  const params = { path: { cityName }, query: { subject, limit: SHOWN } };
  const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/events', { params, signal }));
  const rows = [...(data.items ?? [])].reverse().map((event) => {
    const { ts, type, actor, message = '' } = event as { ts: string; type: string; actor: string; message?: string };
    return [`${age(ts)} ago`, ...[type, actor, message].map(harmlessLine)];
  });
  return rows.length === 0 ? '' : `last events:\n${block(columns(rows))}`;
}
