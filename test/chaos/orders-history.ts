import type { Attempt } from './attempt.js';
import type { Fault, LogRow } from './history.js';
import { emptyParts, loadParts, saveParts } from './history-parts.js';

/** What a run with orders has seen, and what the database, the commands and the replicas say at its end. Times are as in `History`. */
export interface OrdersHistory {
  readonly seed: number;
  readonly asks: OrderAsk[];
  readonly faults: Fault[];
  /** Times at which the clock of the orders with a schedule was moved to their slot. */
  readonly moves: { readonly at: number }[];
  /** From when to when there were orders, as clocks on the wall have it. */
  readonly spans: { readonly from: number; readonly to: number }[];
  /** From where on each order listens. */
  readonly starts: { readonly order: string; readonly cursor: number }[];
  readonly log: LogRow[];
  readonly orders: OrderEnd[];
  readonly firings: FiringEnd[];
  readonly deliveries: DeliveryEnd[];
  readonly runs: RunEnd[];
  readonly traces: Trace[];
  readonly shown: ShownOrder[];
}

/** One attempt at a request: a run by hand, a delivery of a webhook, an event. What it fires knows the marker. */
export interface OrderAsk extends Attempt {
  readonly kind: 'run' | 'hook' | 'emit';
  /** The order that is meant; undefined for an event. */
  readonly order?: string;
  /** Answered to a run by hand. */
  readonly firing?: string;
}

export interface OrderEnd {
  readonly order: string;
  readonly failures: number;
  readonly lastOutcome: string | null;
  readonly cursor: number;
}

export interface FiringEnd {
  readonly pk: number;
  readonly id: string;
  readonly order: string;
  readonly state: string;
  readonly cause: string;
  readonly forced: boolean;
  /** Milliseconds of the database's clock. */
  readonly createdAt: number;
  readonly attempts: number;
  readonly outcome: string | null;
  readonly root: string | null;
  readonly mark: string | null;
  readonly event: { readonly seq: number; readonly type: string; readonly count: number } | null;
}

export interface DeliveryEnd {
  readonly hook: string;
  readonly firing: string;
  readonly waiting: boolean;
}

/** A run that an order has launched. */
export interface RunEnd {
  readonly id: string;
  readonly firing: string | null;
}

/** A line that a command has written when it began, or was about to end well. */
export interface Trace {
  readonly what: 'begin' | 'end';
  readonly firing: string;
  readonly order: string;
  /** Of the event that it was handed; '' without one. */
  readonly seq: string;
}

/** What a replica shows of an order. */
export interface ShownOrder {
  readonly replica: string;
  readonly order: string;
  readonly failures: number;
  readonly lastOutcome: string | null;
  readonly entries: readonly ShownFiring[];
}
export interface ShownFiring {
  readonly id: string;
  readonly state: string;
  readonly cause: string;
  readonly outcome: string | null;
  readonly root: string | null;
}

const PARTS = [
  'asks',
  'faults',
  'moves',
  'spans',
  'starts',
  'log',
  'orders',
  'firings',
  'deliveries',
  'runs',
  'traces',
  'shown',
] as const satisfies readonly Exclude<keyof OrdersHistory, 'seed'>[];

export function emptyOrders(seed: number): OrdersHistory {
  return emptyParts(seed, PARTS);
}

export function saveOrders(history: OrdersHistory, file: string): Promise<void> {
  return saveParts(history, PARTS, file);
}

export function loadOrders(file: string): Promise<OrdersHistory> {
  return loadParts(file, PARTS);
}
