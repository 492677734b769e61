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
