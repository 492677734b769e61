import { ExtmsgBound, ExtmsgUnbound } from '../../../../contract/events/extmsg.events.js';
import { event, type NewEvent } from '../../../../platform/event-log/event.js';
import { factsOf } from '../conversations/conversation.js';
import type { BindingFacts } from './bindings.repository.js';

/** Bindings that one event names. */
const NAMED = 100;

export interface Telling {
  readonly stream: string;
  readonly actor: string;
}

export type UnboundReason = 'unbound' | 'replaced' | 'expired' | 'session_closed';

export function boundEvent({ stream, actor }: Telling, row: BindingFacts): NewEvent {
  return event(ExtmsgBound, { stream, actor, subject: row.session_id || row.agent_name, payload: bindingFacts(row) });
}

/** `of` is whom an unbinding has named; else it is who had the first. */
export function unboundEvent({ stream, actor }: Telling, rows: readonly BindingFacts[], reason: UnboundReason, of?: string): NewEvent {
  const [first] = rows;
  const { session_id = '', agent_name = '' } = first ?? {};
  return event(ExtmsgUnbound, {
    stream,
    actor,
    subject: of || session_id || agent_name,
    payload: {
      session_id,
      ...(agent_name === '' ? {} : { agent_name }),
      count: rows.length,
      reason,
      bindings: rows.slice(0, NAMED).map(bindingFacts),
    },
  });
}

function bindingFacts(row: BindingFacts): ReturnType<typeof factsOf> & {
  session_id: string;
  agent_name?: string;
  binding_generation: number;
} {
  const { session_id, agent_name, generation } = row;
  return { ...factsOf(row), session_id, ...(agent_name === '' ? {} : { agent_name }), binding_generation: generation };
}
