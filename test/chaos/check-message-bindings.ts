import type { MessagesHistory } from './messages-history.js';
import { toldOf } from './messages-told.js';
import type { Violations } from './violations.js';

interface Held {
  readonly holder: string;
  readonly generation: number;
}

/** One has a conversation at a time; who has it is what the log tells, from its first binding to its row. */
export function checkMessageBindings(history: MessagesHistory, violations: Violations): void {
  const held = new Map<string, Held>();
  const last = new Map<string, number>();
  const seen = new Set<string>();
  for (const event of toldOf(history, 'extmsg.bound', 'extmsg.unbound')) {
    const wrong = (what: string, ...more: unknown[]): void => violations.add('one binding', what, event, ...more);
    if (event.type === 'extmsg.unbound') {
      for (const { conversation_id: at, binding_generation } of event.payload.bindings ?? []) {
        if (held.get(at)?.generation !== binding_generation) wrong(`${at}: what ends is not what counted`, held.get(at));
        held.delete(at);
      }
      continue;
    }
    const { conversation_id: at, session_id, agent_name, binding_generation: generation = 0 } = event.payload;
    const holder = session_id || agent_name || '';
    const before = held.get(at);
    if (before !== undefined && (before.holder !== holder || before.generation !== generation))
      wrong(`${at}: bound while ${before.holder} has it`, before);
    if (before === undefined && generation !== (last.get(at) ?? 0) + 1) wrong(`${at}: generation ${generation} after ${last.get(at) ?? 0}`);
    held.set(at, { holder, generation });
    last.set(at, generation);
    seen.add(`${at} ${generation} ${holder}`);
  }
  for (const row of history.bindings) {
    const { conversation, holder, generation, active } = row;
    if (!seen.delete(`${conversation} ${generation} ${holder}`))
      violations.add('one binding', `${conversation}: a binding that is not told`, row);
    if (active !== (held.get(conversation)?.generation === generation))
      violations.add('one binding', `${conversation}: ${generation} is ${active ? '' : 'not '}active, which is told otherwise`, row);
  }
  for (const what of seen) violations.add('one binding', `${what} is told and not kept`);
  for (const { conversation, generation } of history.conversations)
    if (generation !== (last.get(conversation) ?? 0))
      violations.add('one binding', `${conversation} has counted ${generation} bindings, of ${last.get(conversation) ?? 0}`);
  answered(history, violations);
}

/** What was answered is what was done. */
function answered({ asks, bindings }: MessagesHistory, violations: Violations): void {
  for (const ask of asks) {
    const { kind, outcome, conversation, session, generation } = ask;
    if (kind !== 'bind' || outcome !== 'acknowledged') continue;
    const row = bindings.find((one) => one.conversation === conversation && one.generation === generation);
    if (row?.holder !== session)
      violations.add('reliable', `${session} was given ${conversation}, and ${row?.holder ?? 'nobody'} has had it`, ask, row);
  }
}
