import { z } from 'zod';
import { queryText } from '../../../../contract/query.js';
import { contract } from '../../../../contract/registry.js';
import { int64, text } from '../../../../contract/scalars.js';
import { BOUNDS, ConversationRef, metadata } from '../conversations/conversations.schemas.js';
import { ExternalAttachment } from '../transcript/transcript.schemas.js';

export const PublicationStreamQuery = z.strictObject({
  provider: queryText({ max: BOUNDS.provider }).describe('Whose publications. A token of an adapter says that itself.'),
  account_id: queryText({ max: BOUNDS.account }),
  after_cursor: queryText({ max: 128 }).describe(
    'The id of the last frame: what was sent before it and is not acknowledged is sent again.',
  ),
});
export type PublicationStreamQuery = z.infer<typeof PublicationStreamQuery>;

export const ExtmsgPublication = contract(
  'ExtmsgPublication',
  z.strictObject({
    id: z.string().meta({ description: 'Also that of the delivery.' }),
    claim: z.string().meta({ description: "It is this client's to publish; the acknowledgement shows it." }),
    claim_until: z.string().meta({ description: 'What is not acknowledged until then is offered again, also to another connection.' }),
    attempt: int64.meta({ description: 'From 1; from 2 on it may have been published, under the same `idempotency_key`.' }),
    session_id: z.string().describe('The session that publishes it.'),
    conversation: ConversationRef,
    text: z.string().describe('What is to be published.'),
    reply_to_message_id: z.string().optional(),
    idempotency_key: z.string().meta({ description: 'The same with each attempt.' }),
    attachments: z.array(ExternalAttachment).optional(),
    metadata: z.record(z.string(), z.string()),
  }),
  'A message of a session, for the client to publish and to acknowledge.',
);
export type ExtmsgPublication = z.infer<typeof ExtmsgPublication>;

export const PublicationIdParam = text.min(1).max(64).describe('The id of the publication.');

const FAILURES = ['transient', 'rate_limited', 'auth', 'not_found', 'permanent', 'unsupported'] as const;
const HOUR_NS = 3_600_000_000_000;

export const ExtmsgPublicationAckInputBody = contract(
  'ExtmsgPublicationAckInputBody',
  z.strictObject({
    claim: text.min(1).max(64).describe('The claim that the publication came with.'),
    delivered: z.boolean().describe('Whether it was published.'),
    message_id: text.max(BOUNDS.message).optional().meta({ description: "The provider's, of what was published." }),
    failure_kind: z
      .enum(FAILURES)
      .optional()
      .meta({ description: 'Why it was not published. After transient and rate_limited it is offered again, later.' }),
    error: text.max(1_000).optional().describe('What went wrong, for people.'),
    retry_after: z.int().min(0).max(HOUR_NS).optional().meta({ description: 'Nanoseconds.' }),
    metadata: metadata.optional(),
    conversation: ConversationRef.optional().meta({ description: 'Where it was published, if not where it was meant to be.' }),
  }),
  'What has become of a publication.',
);
export type ExtmsgPublicationAckInput = z.infer<typeof ExtmsgPublicationAckInputBody>;
