import type { Attempt } from './attempt.js';
import type { Fault, LogRow } from './history.js';
import { emptyParts, loadParts, saveParts } from './history-parts.js';

/** What a run with sessions has seen, and what the database, the agents and the machine hold at its end. Times are as in `History`. */
export interface SessionsHistory {
  readonly seed: number;
  readonly asks: Ask[];
  readonly samples: Sample[];
  readonly followers: Follower[];
  readonly follows: Follow[];
  readonly faults: Fault[];
  readonly log: LogRow[];
  readonly sessions: SessionEnd[];
  readonly messages: MessageEnd[];
  readonly entries: EntryEnd[];
  readonly turns: TurnEnd[];
  readonly interactions: InteractionEnd[];
  readonly operations: OperationEnd[];
  readonly conversations: Conversation[];
  readonly transcripts: Transcript[];
  readonly leftovers: AgentProcess[];
}

export type AskKind =
  | 'create'
  | 'message'
  | 'submit'
  | 'probe'
  | 'cancel'
  | 'respond'
  | 'stop'
  | 'kill'
  | 'suspend'
  | 'wake'
  | 'reset'
  | 'drain'
  | 'close';

/** One attempt at a request. The marker of what makes a session is its title, that of a message its text. */
export interface Ask extends Attempt {
  readonly kind: AskKind;
  /** Of the path; of a create what was answered. */
  readonly session?: string;
  readonly text?: string;
  readonly intent?: string;
  /** The question that is answered. */
  readonly interaction?: string;
  readonly action?: string;
  readonly message?: string;
  /** Answered with a 202. */
  readonly requestId?: string;
}

/** A process of an agent. */
export interface AgentProcess {
  readonly session: string;
  readonly generation: number;
  readonly pid: number;
  /** When it started: numbers are used again. */
  readonly birth: string;
  readonly group: number;
}

/** Processes that were all alive at one moment. */
export interface Sample {
  readonly at: number;
  readonly processes: readonly AgentProcess[];
}

export type StreamFormat = 'conversation' | 'raw' | 'structured';

export interface Follower {
  readonly name: string;
  readonly session: string;
  readonly format: StreamFormat;
}

/** An answered 200 on a session's stream. */
export interface Follow {
  readonly follower: string;
  readonly replica: string;
  /** The position that it resumed from; absent for a first snapshot. */
  readonly after?: number;
  readonly openedAt: number;
  closedAt?: number;
  readonly frames: FollowFrame[];
}
export interface FollowFrame {
  readonly at: number;
  readonly event: string;
  readonly id?: string;
  readonly data: string;
}

export interface SessionEnd {
  readonly id: string;
  readonly title: string;
  readonly state: string;
  readonly generation: number;
  readonly live: boolean;
  readonly runner: string | null;
  readonly stopRequest: string | null;
  readonly head: number;
  readonly entries: number;
}
export interface MessageEnd {
  readonly session: string;
  readonly pk: number;
  readonly id: string;
  readonly body: string;
  readonly source: string;
  readonly intent: string;
  readonly status: string;
}
export interface EntryEnd {
  readonly session: string;
  readonly seq: number;
  readonly rev: number;
  readonly id: string;
  readonly kind: string;
  readonly role: string;
  readonly status: string;
  readonly turn: number;
  readonly parent: string | null;
  readonly blocks: readonly Block[];
  /** Of what somebody sent. */
  readonly message: string | null;
}
export interface Block {
  readonly type: string;
  readonly text?: string;
  readonly thinking?: string;
}
export interface TurnEnd {
  readonly session: string;
  readonly turn: number;
  readonly stopReason: string | null;
}
export interface InteractionEnd {
  readonly session: string;
  readonly id: string;
  readonly status: string;
  readonly action: string | null;
}
export interface OperationEnd {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
}
/** What an agent has kept of what was said to it, and what it said. */
export interface Conversation {
  readonly id: string;
  readonly said: readonly { readonly role: 'user' | 'agent'; readonly text: string }[];
}
/** All pages of a structured transcript, thoughts included. */
export interface Transcript {
  readonly session: string;
  readonly replica: string;
  readonly messages: readonly Shown[];
}
export interface Shown {
  readonly id: string;
  readonly role: string;
  readonly status: string;
  readonly blocks: readonly Block[];
}

const PARTS = [
  'asks',
  'samples',
  'followers',
  'follows',
  'faults',
  'log',
  'sessions',
  'messages',
  'entries',
  'turns',
  'interactions',
  'operations',
  'conversations',
  'transcripts',
  'leftovers',
] as const satisfies readonly Exclude<keyof SessionsHistory, 'seed'>[];

export function emptySessions(seed: number): SessionsHistory {
  return emptyParts(seed, PARTS);
}

export function saveSessions(history: SessionsHistory, file: string): Promise<void> {
  return saveParts(history, PARTS, file);
}

export function loadSessions(file: string): Promise<SessionsHistory> {
  return loadParts(file, PARTS);
}
