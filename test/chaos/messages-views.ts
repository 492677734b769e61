import type { Member } from './fleet.js';
import { ask } from './http.js';
import { refOf, type ChaosConversation } from './messages-city.js';
import type { EntryEnd } from './messages-history.js';

interface Shown {
  readonly Sequence: number;
  readonly Kind: EntryEnd['kind'];
  readonly ProviderMessageID: string;
  readonly Text: string;
  readonly SourceSessionID: string;
}

/** A page of what has been said, as a replica shows it; undefined when it does not. */
export async function readPage(
  { url }: Member,
  city: string,
  conversation: ChaosConversation,
  place: Record<string, string>,
): Promise<{ readonly entries: EntryEnd[]; readonly next?: string } | undefined> {
  const query = new URLSearchParams({ ...(refOf(conversation) as Record<string, string>), ...place });
  const answer = await ask('GET', `${url}/v0/city/${city}/extmsg/transcript?${query.toString()}`, { ms: 10_000 });
  if (answer?.status !== 200) return undefined;
  const { items, next_cursor: next } = JSON.parse(answer.body) as { items: Shown[]; next_cursor?: string };
  const entries = items.map(({ Sequence, Kind, ProviderMessageID, Text, SourceSessionID }) => ({
    ...{ conversation: conversation.id, sequence: Sequence, kind: Kind, message: ProviderMessageID, text: Text, session: SourceSessionID },
  }));
  return { entries, ...(next === undefined ? {} : { next }) };
}
