import { Injectable } from '@nestjs/common';
import { Db } from '../../../../platform/database/database.js';
import { Lifecycle } from '../../../../platform/health/lifecycle.js';
import { Signals } from '../../../../platform/streams/signals.js';
import { sleep } from '../../../../platform/time/clock.js';
import { resting } from '../../../../platform/turns/working.js';
import { toRef } from '../conversations/conversation.js';
import { SCHEMA_VERSION } from '../conversations/conversations.schemas.js';
import { publicationTopic } from '../topics.js';
import { toEntry } from '../transcript/transcript.mapper.js';
import { TranscriptRepository } from '../transcript/transcript.repository.js';
import type { OutboundResult, PublishReceipt } from './outbound.schemas.js';
import type { PublicationRow } from './publication.js';
import { PublicationsRepository } from './publications.repository.js';

const NANOSECONDS = 1_000_000;
const LOOK_EVERY_MS = 1_000;

/** Waits for what comes of publications, and tells it. */
@Injectable()
export class PublicationWatch {
  readonly #stop = new AbortController();

  constructor(
    private readonly db: Db,
    private readonly repository: PublicationsRepository,
    private readonly transcript: TranscriptRepository,
    private readonly signals: Signals,
    lifecycle: Lifecycle,
  ) {
    lifecycle.onStop('accept', 'requests that wait for publications', () => this.#stop.abort());
  }

  /** Once it has ended; after `ms`, or when nobody waits any more, as it is then. */
  async result(pk: number, ms: number, gone?: AbortSignal): Promise<OutboundResult> {
    const ended = AbortSignal.any([this.#stop.signal, ...(gone === undefined ? [] : [gone])]);
    const limit = performance.now() + ms;
    let heard = new AbortController();
    const topic = publicationTopic(pk);
    const forget = this.signals.onTopics((names) => {
      if (names === 'all' || names.has(topic)) heard.abort();
    });
    try {
      for (;;) {
        heard = new AbortController();
        const row = (await this.repository.byPk(this.db, pk))!;
        const left = limit - performance.now();
        if (row.state !== 'pending' || left <= 0 || ended.aborted) return await this.#toResult(row);
        const { signal } = heard;
        await resting(() => sleep(Math.min(LOOK_EVERY_MS, left), AbortSignal.any([signal, ended])));
      }
    } finally {
      forget();
    }
  }

  async #toResult(row: PublicationRow): Promise<OutboundResult> {
    const entry = row.sequence === null ? undefined : await this.transcript.at(this.db, row.conversation_pk, row.sequence);
    const context = row.state === 'delivered' && row.generation > 0 ? await this.repository.context(this.db, row) : undefined;
    return {
      Receipt: receiptOf(row),
      DeliveryContext:
        context === undefined
          ? null
          : {
              ID: `${row.id}-context`,
              SchemaVersion: SCHEMA_VERSION,
              SessionID: row.session_id,
              Conversation: toRef(row),
              BindingGeneration: context.generation,
              LastPublishedAt: context.last_published_at.toISOString(),
              LastMessageID: context.last_message_id,
              SourceSessionID: row.session_id,
              Metadata: {},
            },
      TranscriptEntry: entry === undefined ? null : toEntry(entry, row),
      DeliveryID: row.id,
    };
  }
}

function receiptOf({ state, receipt, conversation }: PublicationRow): PublishReceipt {
  const kind = receipt?.kind ?? '';
  return {
    MessageID: receipt?.messageId ?? '',
    Conversation: receipt?.conversation ?? conversation,
    Delivered: state === 'delivered',
    FailureKind: state === 'pending' ? 'pending' : kind,
    RetryAfter: Math.round((receipt?.retryAfterMs ?? 0) * NANOSECONDS),
    Metadata: receipt?.metadata ?? null,
    ...(receipt?.error === undefined ? {} : { Error: receipt.error }),
  };
}
