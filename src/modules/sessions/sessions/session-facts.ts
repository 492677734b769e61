/** A session that has a process, as lists of agents show it. */
export interface LiveSession {
  readonly pk: number;
  readonly id: string;
  readonly session_name: string;
  readonly agent_name: string;
  readonly state: string;
  readonly activity: 'idle' | 'in-turn';
  readonly model: string | null;
  readonly last_turn_at: Date | null;
  /** It waits for somebody's answer. */
  readonly pending: boolean;
}

export interface SessionCounts {
  /** Everything that is not closed. */
  readonly open: number;
  readonly live: number;
  readonly pending: number;
  /** By state, `closed` left out; states without a session are absent. */
  readonly states: Readonly<Record<string, number>>;
}
