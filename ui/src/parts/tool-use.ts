import { get, inCity, part } from '../api/client.js';
import type { Ask, Schemas } from '../api/types.js';

export type ToolUse = Schemas['SessionStructuredBlockToolUse'];
const LOOKED_AT = 50;

/** What the transcript says that the tool would do, where the question names a call. @throws Refusal */
export async function readToolUse({ city, session_id, metadata }: Ask, signal?: AbortSignal): Promise<ToolUse | undefined> {
  const call = metadata?.tool_call_id;
  if (call === undefined) return undefined;
  const { structured_messages = [] } = await get<{ structured_messages?: Schemas['SessionStructuredMessage'][] }>(
    inCity(city, `session/${part(session_id)}/transcript`),
    { query: { format: 'structured', limit: LOOKED_AT }, ...(signal === undefined ? {} : { signal }) },
  );
  const uses = structured_messages.flatMap(({ blocks }) => blocks).filter((block): block is ToolUse => block.type === 'tool_use');
  return uses.findLast(({ id }) => id === call);
}
