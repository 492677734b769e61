import { createReadStream } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import type { Attempt } from './attempt.js';
import type { ConfigEnd, ConfigView, Edit, Save } from './history-config.js';
import type { Change, WorkView } from './history-work.js';

/**
 * What one run has seen: everything clients sent and received, and what the database holds at the end. Times are
 * milliseconds since the run began, all from the driver's clock.
 */
export interface History {
  readonly seed: number;
  readonly heartbeatMs: number;
  readonly writes: Write[];
  readonly changes: Change[];
  readonly views: WorkView[];
  readonly edits: Edit[];
  readonly saves: Save[];
  readonly configs: ConfigView[];
  readonly ends: ConfigEnd[];
  readonly subscribers: Subscriber[];
  readonly connections: Connection[];
  readonly refusals: Refusal[];
  readonly faults: Fault[];
  final: Final;
}

export type OperationKind = 'city.create' | 'city.register' | 'city.stop' | 'city.start' | 'city.unregister';

/** One attempt at an emit or at an operation on a city. Of an emit, the marker is the event's message. */
export interface Write extends Attempt {
  readonly kind: 'emit' | OperationKind;
  /** Answered for an emit. */
  readonly seq?: number;
  /** Answered for an operation. */
  readonly requestId?: string;
}

export interface Subscriber {
  readonly name: string;
  /** The stream it follows; undefined for the supervisor's feed. */
  readonly city?: string;
  readonly cities?: readonly string[];
  readonly types?: readonly string[];
  /** Whether it must have everything at the end. False for the stream of a city that has been unregistered. */
  mustCatchUp: boolean;
}

export type Resume = { readonly how: 'head' } | { readonly how: 'last-event-id' | 'after_seq' | 'after_cursor'; readonly position: string };

/** An answered 200 on a stream. */
export interface Connection {
  readonly number: number;
  readonly subscriber: string;
  readonly replica: string;
  readonly resume: Resume;
  readonly sentAt: number;
  readonly openedAt: number;
  closedAt?: number;
  /** `server` ended the response in order, `client` went away, `broken` is everything else. */
  closedBy?: 'server' | 'client' | 'broken';
  readonly frames: Frame[];
}

export interface Frame {
  readonly at: number;
  /** `event`, `tagged_event`, `heartbeat`; `retry` stands for a frame that only has a retry field. */
  readonly event: string;
  readonly id?: string;
  readonly data: string;
}

/** An open that was answered with anything but 200. */
export interface Refusal {
  readonly subscriber: string;
  readonly replica: string;
  readonly at: number;
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export interface Fault {
  readonly name: string;
  readonly from: number;
  to: number;
  readonly replica?: string;
  /** The replica (all of them, when none is named) could not run at all: its streams may be silent for so long. */
  readonly pause?: boolean;
}

export interface Final {
  readonly log: LogRow[];
  readonly streams: StreamRow[];
  readonly cities: CityRow[];
  readonly operations: OperationRow[];
  readonly cursors: CursorRow[];
}

/** `text` is the event's JSON at city scope, `city` what it is tagged with at supervisor scope. */
export interface LogRow {
  readonly stream: string;
  readonly seq: number;
  readonly type: string;
  readonly city: string;
  readonly text: string;
}
export interface StreamRow {
  readonly id: number;
  readonly name: string;
  readonly head: number;
  readonly active: boolean;
  readonly joinedSeq: number;
  readonly joinedSupervisorSeq: number;
}
export interface CityRow {
  readonly name: string;
  readonly running: boolean;
}
export interface OperationRow {
  readonly id: string;
  readonly kind: string;
  readonly target: string;
  readonly state: string;
}
export interface CursorRow {
  readonly id: number;
  readonly root: number | null;
  readonly streamIds: readonly number[];
  readonly seqs: readonly number[];
}

export const SUPERVISOR = '__supervisor__';

export function emptyHistory(seed: number, heartbeatMs: number): History {
  const final = { log: [], streams: [], cities: [], operations: [], cursors: [] };
  return {
    seed,
    heartbeatMs,
    writes: [],
    changes: [],
    views: [],
    edits: [],
    saves: [],
    configs: [],
    ends: [],
    subscribers: [],
    connections: [],
    refusals: [],
    faults: [],
    final,
  };
}

type Line = { readonly is: string } & Record<string, unknown>;
const PARTS = [
  'writes',
  'changes',
  'views',
  'edits',
  'saves',
  'configs',
  'ends',
  'subscribers',
  'connections',
  'refusals',
  'faults',
] as const;
const FINAL = ['log', 'streams', 'cities', 'operations', 'cursors'] as const;

/** One JSON object a line, so that a long history can be searched with grep and jq. */
export async function saveHistory(history: History, file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const out = await open(file, 'w');
  try {
    await out.write(`${JSON.stringify({ is: 'run', seed: history.seed, heartbeatMs: history.heartbeatMs })}\n`);
    const write = async (is: string, entries: readonly object[]): Promise<void> => {
      for (let at = 0; at < entries.length; at += 200) {
        const lines = entries.slice(at, at + 200).map((entry) => `${JSON.stringify({ is, ...entry })}\n`);
        await out.write(lines.join(''));
      }
    };
    for (const part of PARTS) await write(part, history[part]);
    for (const part of FINAL) await write(`final.${part}`, history.final[part]);
  } finally {
    await out.close();
  }
}

export async function loadHistory(file: string): Promise<History> {
  let history = emptyHistory(0, 0);
  for await (const text of createInterface({ input: createReadStream(file) })) {
    const { is, ...entry } = JSON.parse(text) as Line;
    if (is === 'run') history = emptyHistory(Number(entry.seed), Number(entry.heartbeatMs));
    else {
      const holder = (is.startsWith('final.') ? history.final : history) as unknown as Record<string, unknown[]>;
      holder[is.replace('final.', '')]!.push(entry);
    }
  }
  return history;
}
