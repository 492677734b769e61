import type { Schemas } from '../api/types.js';

export type ToolUse = Schemas['SessionStructuredBlockToolUse'];
export interface Page {
  readonly structured_messages?: readonly Schemas['SessionStructuredMessage'][];
  readonly pagination?: { readonly has_older_messages?: boolean; readonly truncated_before_message?: string };
}

/** A call is mostly the last thing that an agent has told; one that waits while others go on is further back. */
const PAGES = [50, 200, 200, 200] as const;

/** What a call would do, by the newest entries of its transcript; undefined where it is in none of them. */
export async function findCall(
  call: string,
  read: (limit: number, before: string | undefined) => Promise<Page>,
): Promise<ToolUse | undefined> {
  let before: string | undefined;
  for (const limit of PAGES) {
    const { structured_messages: messages = [], pagination } = await read(limit, before);
    const found = messages
      .flatMap(({ blocks }) => blocks)
      .filter((block): block is ToolUse => block.type === 'tool_use')
      .findLast(({ id }) => id === call);
    if (found !== undefined) return found;
    before = pagination?.has_older_messages === true ? pagination.truncated_before_message : undefined;
    if (before === undefined) return undefined;
  }
  return undefined;
}

/**
 * Why an answer is asked for once more before it counts; undefined where it is not.
 * @param unseen it allows what nobody was shown.
 */
export function onceMore(kind: string, unseen: boolean): string | undefined {
  if (kind.endsWith('_always')) return 'it lasts';
  return unseen && !kind.startsWith('reject') ? 'what it would do is not shown' : undefined;
}
