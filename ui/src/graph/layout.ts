import workerUrl from './layout.worker.ts?worker&url';
import { trusted } from '../live/trusted.js';

export interface Size {
  readonly id: string;
  readonly width: number;
  readonly height: number;
}
export type Line = readonly [from: string, to: string];
export interface Wish {
  readonly turn: number;
  readonly nodes: readonly Size[];
  readonly lines: readonly Line[];
}
export interface Places {
  readonly turn: number;
  /** The upper left corner of each. */
  readonly places: Readonly<Record<string, readonly [x: number, y: number]>>;
}

/** A layout that takes longer is given up; the same graph is shown as a list then. */
const MOST_MS = 8_000;
const KEPT = 20;
const known = new Map<string, Places['places']>();
let worker: Worker | undefined;
let turn = 0;
const start = (): Worker => (worker ??= new Worker(trusted(workerUrl) as URL, { type: 'module' }));
// While the graph is still being read.
start();

/** Where the nodes stand. Thought out beside the page, and once for each set of edges. */
export function placesOf(nodes: readonly Size[], lines: readonly Line[]): Promise<Places['places']> {
  const key = JSON.stringify([nodes, lines]);
  const before = known.get(key);
  if (before !== undefined) return Promise.resolve(before);
  const mine = ++turn;
  const held = start();
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      held.removeEventListener('message', hear);
      held.removeEventListener('error', fail);
    };
    const fail = (): void => {
      end();
      held.terminate();
      if (worker === held) worker = undefined;
      reject(new Error('this graph is too large to be drawn'));
    };
    const hear = ({ data }: MessageEvent<Places>): void => {
      if (data.turn !== mine) return;
      end();
      known.set(key, data.places);
      if (known.size > KEPT) known.delete(known.keys().next().value!);
      resolve(data.places);
    };
    const timer = setTimeout(fail, MOST_MS);
    held.addEventListener('message', hear);
    held.addEventListener('error', fail);
    held.postMessage({ turn: mine, nodes, lines } satisfies Wish);
  });
}
