import type { ExternalAttachment } from '../transcript/transcript.schemas.js';
import type { PublicationRow } from './publication.js';

/** What an adapter is given of a publication, however it takes it. */
export function toPublished(row: PublicationRow): {
  readonly session_id: string;
  readonly conversation: PublicationRow['conversation'];
  readonly text: string;
  readonly reply_to_message_id?: string;
  readonly idempotency_key: string;
  readonly attachments?: ExternalAttachment[];
  readonly metadata: { readonly source_session_id: string };
} {
  return {
    session_id: row.session_id,
    conversation: row.conversation,
    text: row.body,
    ...(row.reply_to_message_id === '' ? {} : { reply_to_message_id: row.reply_to_message_id }),
    idempotency_key: row.idempotency_key || row.id,
    ...(row.attachments.length === 0 ? {} : { attachments: [...row.attachments] }),
    metadata: { source_session_id: row.session_id },
  };
}
