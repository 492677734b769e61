import { BeadClosed, BeadCreated, BeadDeleted, BeadUpdated } from '../../../contract/events/beads.events.js';
import { event, type NewEvent } from '../../../platform/event-log/event.js';
import type { BeadRecord } from './bead-record.js';

/** The envelope of an event about a bead. */
export interface BeadFacts {
  readonly stream: string;
  readonly actor: string;
  readonly subject: string;
  readonly run_id: string;
  readonly session_id?: string;
  readonly step_id?: string;
}

export function factsOf({ id, metadata }: BeadRecord, stream: string, actor: string): BeadFacts {
  const session = metadata['gc.session_id'];
  const step = metadata['gc.step_id'];
  return {
    stream,
    actor,
    subject: id,
    run_id: metadata.workflow_id || metadata.molecule_id || metadata['gc.root_bead_id'] || id,
    ...(session ? { session_id: session } : {}),
    ...(step ? { step_id: step } : {}),
  };
}

/** What is told of a bead that was `before` and is `after`; undefined when it has come and gone meanwhile. */
export function beadEvent(
  before: BeadRecord | undefined,
  after: BeadRecord | undefined,
  facts: (bead: BeadRecord) => BeadFacts,
): NewEvent | undefined {
  const bead = after ?? before;
  if (bead === undefined) return undefined;
  const kind =
    after === undefined
      ? BeadDeleted
      : before === undefined
        ? BeadCreated
        : before.status !== 'closed' && after.status === 'closed'
          ? BeadClosed
          : BeadUpdated;
  return event(kind, { ...facts(bead), payload: { bead: bead.snapshot } });
}
