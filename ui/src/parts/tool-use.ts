import { get, inCity, part } from '../api/client.js';
import type { Ask } from '../api/types.js';
import { findCall, type Call, type Page } from '../lib/approve.js';
import { Few } from '../lib/few.js';

/** Each costs a request or more, and everybody who looks at the inbox asks. */
const few = new Few(4);

/** What the transcript says that the tool would do, where the question names a call. @throws Refusal */
export async function readCall({ city, session_id, metadata }: Ask, signal?: AbortSignal): Promise<Call | undefined> {
  const call = metadata?.tool_call_id;
  if (call === undefined) return undefined;
  const path = inCity(city, `session/${part(session_id)}/transcript`);
  return few.run(() =>
    findCall(call, (limit, before) =>
      get<Page>(path, { query: { format: 'structured', limit, before }, ...(signal === undefined ? {} : { signal }) }),
    ),
  );
}
