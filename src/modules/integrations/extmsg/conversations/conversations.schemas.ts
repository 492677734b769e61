import { z } from 'zod';
import { boundedMap } from '../../../../contract/bounded-map.js';
import { problem } from '../../../../contract/problems.js';
import { contract } from '../../../../contract/registry.js';
import { int64, text } from '../../../../contract/scalars.js';

/** Characters. */
export const BOUNDS = { provider: 64, account: 255, scope: 255, conversation: 512, message: 512, handle: 128, session: 255 } as const;

export const ConversationKind = contract(
  'ConversationKind',
  z.enum(['dm', 'room', 'thread']),
  '`dm`: two talk. `room`: many do. `thread`: a part of a room.',
);
export type ConversationKind = z.infer<typeof ConversationKind>;

export const ConversationRef = contract(
  'ConversationRef',
  z.strictObject({
    scope_id: text.max(BOUNDS.scope).meta({ description: 'A namespace within the city, by convention its name.' }),
    provider: text.max(BOUNDS.provider).meta({ description: 'slack, discord, telegram …; compared in lower case.' }),
    account_id: text.max(BOUNDS.account).describe('The account at the provider.'),
    conversation_id: text.max(BOUNDS.conversation).describe('The id of the conversation at the provider.'),
    parent_conversation_id: text.max(BOUNDS.conversation).optional().meta({ description: 'The room that a thread hangs from.' }),
    kind: ConversationKind,
  }),
  'One conversation elsewhere. All six parts together are its identity: a thread is another conversation than its room.',
);
export type ConversationRef = z.infer<typeof ConversationRef>;

const KEYS = 64;
export const metadata = boundedMap(z.record(text.max(128), text.max(1024)), KEYS, `may have ${KEYS} members at the most`);
export type Metadata = Readonly<Record<string, string>>;

/** Keys are trimmed, those that are blank go. */
export function tidyMetadata(given: Metadata | undefined): Metadata {
  const kept = Object.entries(given ?? {}).map(([key, value]) => [key.trim(), value] as const);
  return Object.fromEntries(kept.filter(([key]) => key !== ''));
}

/**
 * What is given comes to what is there: together they have no more members than one alone may. What was longer before that was a rule
 * gets no longer. @throws ProblemError validation_failed
 */
export function requireFew(given: Metadata, there: Metadata = {}): void {
  const added = Object.keys(given).filter((key) => !Object.hasOwn(there, key)).length;
  const all = Object.keys(there).length + added;
  if (added > 0 && all > KEYS)
    throw problem('validation_failed', `metadata may have ${KEYS} members at the most, and would have ${all} with those that are there`, {
      at: 'body.metadata',
    });
}

export const SCHEMA_VERSION = 1;
export const schemaVersion = int64;
