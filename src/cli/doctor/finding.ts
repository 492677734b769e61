import { oneLine } from '../errors.js';
import type { Io } from '../io.js';
import { plain } from '../table.js';

/** `skipped`: it was not looked at, which says nothing about it. */
export type Status = 'ok' | 'warning' | 'failed' | 'skipped';

export interface Finding {
  /** What it belongs to: `client`, `server`, `runners`, `providers`, `city alpha`. */
  readonly area: string;
  readonly name: string;
  readonly status: Status;
  /** What was found, and what that means. */
  readonly message: string;
  /** A command that mends it, to be read before it is run. */
  readonly mend?: string;
}

export type Found = Omit<Finding, 'area'>;

export const ok = (name: string, message: string): Found => ({ name, status: 'ok', message });
export const skipped = (name: string, message: string): Found => ({ name, status: 'skipped', message });
export const warning = (name: string, message: string, mend?: string): Found => ({ name, status: 'warning', message, ...mending(mend) });
export const failed = (name: string, message: string, mend?: string): Found => ({ name, status: 'failed', message, ...mending(mend) });

const mending = (mend: string | undefined): { mend?: string } => (mend === undefined ? {} : { mend });

/** What a check that could not be made says for itself. */
export function unable(name: string, error: unknown): Found {
  return failed(name, oneLine((error as { message?: string } | null)?.message ?? String(error)));
}

const COLOURS: Readonly<Record<Status, string>> = { ok: '32', warning: '33', failed: '31', skipped: '2' };
const MARGIN = 2;

/** The lines of one area under its name. */
export function shownArea(area: string, found: readonly Found[], io: Pick<Io, 'colour'>): string {
  const name = Math.max(...found.map((one) => plain(one.name).length));
  const status = Math.max(...Object.keys(COLOURS).map((one) => one.length));
  const indent = ' '.repeat(MARGIN + status + 2 + name + 2);
  const lines = found.flatMap((one) => {
    const padded = one.status.padEnd(status);
    const said = io.colour ? `\u001b[${COLOURS[one.status]}m${padded}\u001b[0m` : padded;
    const line = `${' '.repeat(MARGIN)}${said}  ${plain(one.name).padEnd(name)}  ${plain(one.message)}`.trimEnd();
    return one.mend === undefined ? [line] : [line, `${indent}$ ${plain(one.mend)}`];
  });
  return `${plain(area)}\n${lines.map((line) => `${line}\n`).join('')}`;
}
