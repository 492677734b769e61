import type { MessagesHistory } from './messages-history.js';

/** What an event of the family says. */
export interface Told {
  readonly seq: number;
  readonly type: string;
  readonly payload: {
    readonly conversation_id: string;
    readonly sequence?: number;
    readonly members?: number;
    readonly target_session?: string;
    readonly target_agent?: string;
    readonly message_id?: string;
    readonly delivery_id?: string;
    readonly session_id?: string;
    readonly agent_name?: string;
    readonly binding_generation?: number;
    readonly bindings?: readonly Told['payload'][];
  };
}

export function toldOf({ log }: MessagesHistory, ...types: readonly string[]): Told[] {
  return log
    .filter(({ type }) => types.includes(type))
    .toSorted((a, b) => a.seq - b.seq)
    .map(({ text }) => JSON.parse(text) as Told);
}

/** Entries that came as the echo of a publication before its answer did: told as from outside first, and as a session's words then. */
export function earlyEchoes(history: MessagesHistory): Set<string> {
  const told = new Set<string>();
  const echoes = new Set<string>();
  for (const { type, payload } of toldOf(history, 'extmsg.inbound', 'extmsg.outbound')) {
    const key = `${payload.conversation_id} ${payload.sequence}`;
    if (type === 'extmsg.inbound') told.add(key);
    else if (told.has(key)) echoes.add(key);
  }
  return echoes;
}
