import { get, inCity, part } from '../api/client.js';
import type { Ask } from '../api/types.js';
import { findCall, type Page, type ToolUse } from '../lib/approve.js';

export type { ToolUse } from '../lib/approve.js';

/** What the transcript says that the tool would do, where the question names a call. @throws Refusal */
export async function readToolUse({ city, session_id, metadata }: Ask, signal?: AbortSignal): Promise<ToolUse | undefined> {
  const call = metadata?.tool_call_id;
  if (call === undefined) return undefined;
  const path = inCity(city, `session/${part(session_id)}/transcript`);
  return findCall(call, (limit, before) =>
    get<Page>(path, { query: { format: 'structured', limit, before }, ...(signal === undefined ? {} : { signal }) }),
  );
}
