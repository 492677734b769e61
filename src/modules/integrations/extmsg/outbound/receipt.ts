import { z } from 'zod';
import { metadata as boundedMetadata, BOUNDS, ConversationRef } from '../conversations/conversations.schemas.js';
import { text } from '../../../../contract/scalars.js';
import type { Called } from './callback.js';

/** What one try has come to. */
export interface Outcome {
  readonly delivered: boolean;
  readonly messageId: string;
  /** '' when it is delivered. */
  readonly kind: string;
  readonly error: string | undefined;
  readonly retryAfterMs: number;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly conversation: ConversationRef | undefined;
}

/** What an adapter answers. Further members are its own. */
const Answer = z.object({
  message_id: text.max(BOUNDS.message).nullish(),
  delivered: z.boolean().nullish(),
  failure_kind: text.max(64).nullish(),
  retry_after: z.number().nonnegative().nullish(),
  metadata: boundedMetadata.nullish(),
  conversation: ConversationRef.nullish().catch(undefined),
});

/** Kinds of failure after which it is tried again. */
const RETRIED: ReadonlySet<string> = new Set(['transient', 'rate_limited']);
const EXCERPT = 300;
const LONGEST_ERROR = 1_000;
const LONGEST_PAUSE_MS = 3_600_000;
const NANOSECONDS = 1_000_000;

export const isRetried = ({ delivered, kind }: Outcome): boolean => !delivered && RETRIED.has(kind);

export function outcomeOf(called: Called): Outcome {
  if (called.status === 0)
    return 'why' in called ? failed(called.refused ? 'permanent' : 'transient', called.why) : failed('transient', 'no answer');
  const { status, body, retryAfter } = called as Extract<Called, { body: string }>;
  if (status >= 300 && status < 400) return failed('permanent', `${status}: redirects are not followed; register where it leads`);
  if (status < 200 || status > 299) return failed(kindOf(status), `${status} ${excerpt(body)}`.trim(), pauseOf(retryAfter));
  const parsed = Answer.safeParse(jsonOf(body));
  if (!parsed.success)
    return failed('transient', `${status}, and its answer is not what was agreed${wrongIn(parsed.error)}: ${excerpt(body)}`);
  const { message_id, delivered, failure_kind, retry_after, metadata, conversation } = parsed.data;
  const common = { messageId: message_id ?? '', metadata: metadata ?? null, conversation: conversation ?? undefined };
  if (delivered === true) return { ...common, delivered: true, kind: '', error: undefined, retryAfterMs: 0 };
  const kind = failure_kind ?? '';
  const retryAfterMs = Math.min((retry_after ?? 0) / NANOSECONDS, LONGEST_PAUSE_MS);
  return { ...common, messageId: '', delivered: false, kind, error: kind === '' ? 'the adapter gives no reason' : kind, retryAfterMs };
}

export function failed(kind: string, error: string, retryAfterMs = 0): Outcome {
  // Something in it may be what an adapter has answered, as it came. What cannot be stored would be tried again for ever.
  return {
    delivered: false,
    messageId: '',
    kind,
    error: storable(error, LONGEST_ERROR),
    retryAfterMs,
    metadata: null,
    conversation: undefined,
  };
}

function kindOf(status: number): string {
  if (status === 401 || status === 403) return 'auth';
  if (status === 404) return 'not_found';
  if (status === 429) return 'rate_limited';
  return status >= 500 ? 'transient' : 'permanent';
}

/** Seconds, or a time. */
function pauseOf(header: string | undefined): number {
  if (header === undefined) return 0;
  const ms = /^\d{1,9}$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, Math.min(ms, LONGEST_PAUSE_MS)) : 0;
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Whoever writes an adapter sees which member it is; of what is no object at all, the text says enough. */
function wrongIn({ issues: [first] }: z.ZodError): string {
  if (first === undefined || first.path.length === 0) return '';
  return ` (${first.path.join('.')}: ${first.message})`;
}

const excerpt = (body: string): string => storable(body, EXCERPT).trim();

const storable = (text: string, most: number): string =>
  text
    .slice(0, most)
    .replace(/\p{Cc}+/gu, ' ')
    .toWellFormed();
