import type { PendingInteraction } from '../../../contract/interactions.schemas.js';
import type { InteractionRow } from './interaction-row.js';

export type Shown = Pick<InteractionRow, 'request_id' | 'kind' | 'prompt' | 'options' | 'metadata' | 'opened_at'>;

/** An open question as clients see it: in answers and in frames of streams alike. */
export function toPendingInteraction({ request_id, kind, prompt, options, metadata, opened_at }: Shown): PendingInteraction {
  return {
    request_id,
    kind,
    prompt,
    options: options.map(({ label }) => label),
    metadata: { ...metadata },
    choices: options.map(({ id, label, kind: choice }) => (choice === undefined ? { id, label } : { id, label, kind: choice })),
    opened_at: opened_at.toISOString(),
  };
}
