import type { Attempt } from './attempt.js';
import type { Fault, LogRow } from './history.js';
import { emptyParts, loadParts, saveParts } from './history-parts.js';

/** What a run with messages from outside has seen, and what adapters, agents, the database and the replicas say at its end. Times are as in `History`. */
export interface MessagesHistory {
  readonly seed: number;
  readonly asks: MessageAsk[];
  readonly calls: AdapterCall[];
  /** What connected clients were given, and what they have said of it. */
  readonly offers: Offer[];
  readonly answers: OfferAnswer[];
  /** Who is a member of which conversation from the beginning to the end. */
  readonly steady: Steady[];
  readonly faults: Fault[];
  readonly log: LogRow[];
  readonly conversations: ConversationEnd[];
  readonly entries: EntryEnd[];
  readonly deliveries: DeliveryEnd[];
  readonly bindings: BindingEnd[];
  readonly members: MemberEnd[];
  /** What agents were given, and how often. */
  readonly prompts: Prompt[];
  readonly views: EntriesView[];
  readonly listed: ListedFailures[];
}

/** One attempt at a request. What comes from outside has its provider's id as the marker, what goes out its text. */
export interface MessageAsk extends Attempt {
  readonly kind: 'inbound' | 'outbound' | 'bind' | 'unbind' | 'ack' | 'participant' | 'close';
  readonly conversation?: string;
  /** Who publishes, is bound, has read, gets a handle or is closed. */
  readonly session?: string;
  /** That has been read up to, or that was answered. */
  readonly sequence?: number;
  /** Answered: it had come before. */
  readonly duplicate?: boolean;
  /** Answered: how many are told. */
  readonly members?: number;
  /** Answered: who has it. */
  readonly target?: string;
  /** Answered: the id of a publication. */
  readonly delivery?: string;
  /** Answered: delivered, failed or pending. */
  readonly state?: string;
  /** Answered: of the binding that is made, or of the last that has ended. */
  readonly generation?: number;
}

/** A call that an adapter got, and what it said to it; '' when it hung up. */
export interface AdapterCall {
  readonly at: number;
  readonly adapter: string;
  readonly conversation: string;
  readonly session: string;
  readonly text: string;
  readonly key: string;
  /** Of the kinds of answers: it has taken it, will never, or nobody knows. */
  said: 'taken' | 'refused' | 'later' | '';
}

/** A publication that a client has read from its stream. */
export interface Offer {
  readonly at: number;
  readonly client: string;
  readonly delivery: string;
  readonly claim: string;
  readonly attempt: number;
  readonly conversation: string;
  readonly text: string;
  readonly key: string;
}

/** One attempt to acknowledge one. */
export interface OfferAnswer extends Attempt, Pick<Offer, 'delivery' | 'claim' | 'attempt' | 'conversation'> {
  readonly said: AdapterCall['said'];
}

export interface Steady {
  readonly conversation: string;
  readonly selector: string;
}

export interface ConversationEnd {
  readonly conversation: string;
  readonly head: number;
  readonly generation: number;
}
export interface EntryEnd {
  readonly conversation: string;
  readonly sequence: number;
  readonly kind: 'inbound' | 'outbound';
  readonly message: string;
  readonly text: string;
  readonly session: string;
}
export interface DeliveryEnd {
  readonly pk: number;
  readonly id: string;
  readonly conversation: string;
  readonly direction: 'inbound' | 'peer' | 'outbound';
  readonly state: string;
  readonly sequence: number | null;
  /** Who is told, or who has published. */
  readonly selector: string;
  readonly body: string;
  readonly code: string | null;
  /** Of a publication. */
  readonly key: string;
  readonly generation: number | null;
  readonly receipt: string;
  /** The session's message: where it stands in all queues, and what has become of it. */
  readonly queued: number | null;
  readonly message: string | null;
}
export interface BindingEnd {
  readonly conversation: string;
  readonly holder: string;
  readonly active: boolean;
  readonly generation: number;
}
export interface MemberEnd {
  readonly conversation: string;
  readonly selector: string;
  readonly read: number;
}
export interface Prompt {
  readonly text: string;
  readonly count: number;
}
/** Entries that a replica has shown, in one order or the other; of a member, what it had not read. */
export interface EntriesView {
  readonly replica: string;
  readonly conversation: string;
  readonly from: number;
  /** All pages, when nothing moved any more. */
  readonly whole: boolean;
  readonly unreadBy?: string;
  readonly entries: readonly EntryEnd[];
}
export interface ListedFailures {
  readonly replica: string;
  readonly ids: readonly string[];
}

const PARTS = [
  'asks',
  'calls',
  'offers',
  'answers',
  'steady',
  'faults',
  'log',
  'conversations',
  'entries',
  'deliveries',
  'bindings',
  'members',
  'prompts',
  'views',
  'listed',
] as const satisfies readonly Exclude<keyof MessagesHistory, 'seed'>[];

export function emptyMessages(seed: number): MessagesHistory {
  return emptyParts(seed, PARTS);
}

export function saveMessages(history: MessagesHistory, file: string): Promise<void> {
  return saveParts(history, PARTS, file);
}

export function loadMessages(file: string): Promise<MessagesHistory> {
  return loadParts(file, PARTS);
}
