import { ask, type Api } from '../api.js';
import { age } from '../duration.js';
import { block } from '../table.js';
import { harmlessLine } from '../harmless.js';

const SHOWN = 5;

/** The last that the log says of something, the newest at the end; nothing where it says nothing. */
export async function lastEvents(api: Api, cityName: string, subject: string): Promise<string> {
  const params = { path: { cityName }, query: { subject, limit: SHOWN } };
  const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/events', { params, signal }));
  const lines = [...(data.items ?? [])].reverse().map((event) => {
    const { ts, type, actor, message } = event as { ts: string; type: string; actor: string; message?: string };
    return `${age(ts)} ago  ${harmlessLine(type)}  ${harmlessLine(actor)}${message === undefined ? '' : `  ${harmlessLine(message)}`}`;
  });
  return lines.length === 0 ? '' : `last events:\n${block(lines.join('\n'))}`;
}
