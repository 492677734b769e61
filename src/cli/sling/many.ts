import { setTimeout as sleep } from 'node:timers/promises';
import { ask, type Api, type Schemas } from '../api.js';
import { Progress } from '../cities/progress.js';
import { awaitEnding, type Ending } from '../ending.js';
import type { Io } from '../io.js';

const LOOK_MS = 1_000;
const PAGE = 1_000;

export interface ManyGoingOn {
  readonly city: string;
  readonly accepted: { readonly request_id: string; readonly event_cursor: string };
  readonly quiet: boolean;
}

/** Waits for the end of a batch that goes on in the background, and says how far it is. */
export async function awaitBatch(api: Api, io: Io, { city, accepted, quiet }: ManyGoingOn): Promise<Ending> {
  const progress = new Progress(io, 'slinging', quiet);
  const beside = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const seen = await pageOf({ ...api, signal }, city, accepted.request_id, { limit: 1 }).catch(() => undefined);
      if (seen !== undefined && !signal.aborted && seen.finished_at === undefined) progress.enter(`${seen.done} of ${seen.total}`);
      await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  };
  try {
    return await awaitEnding(api, { accepted, operation: 'sling.batch', city, timeoutMs: undefined, progress, beside });
  } finally {
    progress.end();
  }
}

/** How a batch stands, with what became of all of its beads so far. */
export async function wholeBatch(
  api: Api,
  city: string,
  requestId: string,
  status?: 'slung' | 'refused' | 'skipped',
): Promise<Schemas['SlingBatchBody']> {
  const query = { limit: PAGE, ...(status === undefined ? {} : { status }) };
  let page = await pageOf(api, city, requestId, query);
  const results = [...page.results];
  while (page.next_cursor !== undefined) {
    page = await pageOf(api, city, requestId, { ...query, cursor: page.next_cursor });
    results.push(...page.results);
  }
  return { ...page, results };
}

type Query = { readonly limit: number; readonly cursor?: string; readonly status?: 'slung' | 'refused' | 'skipped' };

async function pageOf(api: Api, city: string, requestId: string, query: Query): Promise<Schemas['SlingBatchBody']> {
  const params = { path: { cityName: city, request_id: requestId }, query };
  const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/sling/batch/{request_id}', { params, signal }));
  return data;
}
