import { writeSync } from 'node:fs';
import { access, constants, stat } from 'node:fs/promises';
import type { Socket } from 'node:net';
import type { Terminal } from '@xterm/headless';
import type { IPty, spawn } from '@lydell/node-pty';
import { HostBusy, StartError, type Entered, type StartSpec } from '../port.js';
import { programsNamed } from '../programs.js';

export const COLUMNS = 160;
export const ROWS = 50;
/** Lines that have left the screen and can still be read. */
const SCROLLBACK = 1_000;

/** What is done as often as a program says, as the library calls it, and how often at the most: more would change nothing that is seen. */
const REPEATED = {
  S: ['scrollUp', ROWS],
  T: ['scrollDown', ROWS],
  L: ['insertLines', ROWS],
  M: ['deleteLines', ROWS],
  b: ['repeatPrecedingCharacter', COLUMNS],
  I: ['cursorForwardTab', COLUMNS],
  Z: ['cursorBackwardTab', COLUMNS],
} as const;
/** Titles, of up to ten million characters each, and links, which stay with their line for ever. */
const KEPT = [0, 1, 2, 8];
/** What a terminal is made with. */
const TERMINALS = '/dev/ptmx';

/** The libraries are optional: one of them is native, and not built for every kind of host. */
interface Libraries {
  readonly spawn: typeof spawn;
  readonly Terminal: typeof Terminal;
  /** Closes a file in what this process starts from now on. Tells whether it will be. */
  readonly closeOnExec: (fd: number) => boolean;
}

/** `F_SETFD` and `FD_CLOEXEC`, on every system that the libraries are built for. */
const [SET_FLAGS, CLOSE_ON_EXEC] = [2, 1];
type SetFlags = (fd: number, command: number, type: 'int', flags: number) => number;
let setFlags: SetFlags | undefined;

/** @throws StartError unsupported when they are not installed. */
export async function loadLibraries(load: (name: string) => Promise<unknown> = (name) => import(name)): Promise<Libraries> {
  try {
    const [pty, terminal, ffi] = await Promise.all([load('@lydell/node-pty'), load('@xterm/headless'), load('koffi')]);
    setFlags ??= (ffi as { load(library: null): { func(definition: string): SetFlags } }).load(null).func('int fcntl(int, int, ...)');
    return {
      ...(pty as { default: { spawn: typeof spawn } }).default,
      ...(terminal as { default: { Terminal: typeof Terminal } }).default,
      closeOnExec: (fd) => setFlags?.(fd, SET_FLAGS, 'int', CLOSE_ON_EXEC) === 0,
    };
  } catch (cause) {
    const why =
      'agents of a terminal need the optional packages @lydell/node-pty, @xterm/headless and koffi, which are not installed on this host';
    throw new StartError('unsupported', `${why}; install them, or use a provider that speaks ACP`, '', { cause });
  }
}

/** Private parts of the terminal library: where they are others, what is asked for too often is not done at all. */
type InputHandler = Partial<
  Record<(typeof REPEATED)[keyof typeof REPEATED][0], (counts: { readonly params: readonly number[]; readonly length: number }) => unknown>
>;

export interface Opened {
  readonly pty: IPty;
  readonly terminal: Terminal;
  /** Gives the program as much of these keys as it has room for, and tells how many bytes those are. */
  readonly take: (keys: Buffer) => number;
  readonly endedFor?: Entered['endedFor'];
}

/**
 * Starts a program in a terminal, in a session and process group of its own.
 *
 * @throws StartError not_found, unsupported or died; HostBusy
 */
export async function openTerminal(spec: StartSpec): Promise<Opened> {
  const { spawn, Terminal, closeOnExec } = await loadLibraries();
  const { TERM = 'xterm-256color' } = spec.env;
  const { command, args, cwd, env, endedFor } = await located({ ...spec, env: { ...spec.env, TERM } });
  const terminal = boundedTerminal(Terminal);
  try {
    const pty = spawn(command, [...args], { name: TERM, cols: COLUMNS, rows: ROWS, cwd, env });
    // Whatever is started after it, of any city, would have this side of the terminal: it could press keys there, and take what is shown.
    if (!closeOnExec(partsOf(pty).fd)) {
      pty.kill('SIGKILL');
      throw new Error('others would have its terminal');
    }
    return { pty, terminal, take: (keys) => taken(pty, keys), endedFor };
  } catch (cause) {
    throw notOpened(spec.command, cause, await mayBeOpened(TERMINALS));
  }
}

/**
 * What the terminal library says of a program that it does not start is neither why nor a code. Its directory and its file have been looked for
 * before: where the host has terminals at all, it has no process, file or terminal left.
 */
export function notOpened(command: string, cause: unknown, hasTerminals: boolean): StartError {
  const why = `${command} could not be started in a terminal`;
  if (!hasTerminals || !(cause instanceof Error) || !cause.message.includes('forkpty')) return new StartError('died', why, '', { cause });
  const short = Object.assign(new Error(cause.message, { cause }), { code: 'EAGAIN' });
  return new HostBusy(`${why}: the host has no process, file or terminal left`, { cause: short });
}

/** A device that is there for others only is none for what is started here. */
export const mayBeOpened = (file: string): Promise<boolean> =>
  access(file, constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  );

/** Of what it understands, all that takes longer, or is kept for longer, than what is on a screen is bounded or left out: its programs are anybody's. */
export function boundedTerminal(Library: typeof Terminal): Terminal {
  // It would log each byte that it does not understand.
  const terminal = new Library({ cols: COLUMNS, rows: ROWS, scrollback: SCROLLBACK, allowProposedApi: true, logLevel: 'off' });
  const { parser } = terminal;
  const { _core } = terminal as unknown as { readonly _core?: { readonly _inputHandler?: InputHandler } };
  for (const [final, [name, most]] of Object.entries(REPEATED)) {
    parser.registerCsiHandler({ final }, ([count]) => {
      if (Number(count) <= most) return false;
      // "Many" clears a screen. A handler cannot hand on another count, and what it writes comes after the rest.
      _core?._inputHandler?.[name]?.({ params: [most], length: 1 });
      return true;
    });
  }
  for (const kept of KEPT) parser.registerOscHandler(kept, () => true);
  return terminal;
}

/**
 * The library's own way of writing waits in the kernel until the program reads, and with it the whole process. The file itself does not
 * wait. Once its socket has gone, its number may be another file's.
 */
function taken(pty: IPty, keys: Buffer): number {
  const { fd, _socket } = partsOf(pty);
  if (_socket.destroyed) return keys.length;
  try {
    return writeSync(fd, keys);
  } catch (error) {
    // Nobody reads what is pressed when the program has ended.
    return (error as NodeJS.ErrnoException).code === 'EAGAIN' ? 0 : keys.length;
  }
}

/** What the library does not say that it has. */
const partsOf = (pty: IPty) => pty as unknown as { readonly fd: number; readonly _socket: Socket };

/** The terminal library cannot tell a program that is missing from one that has failed. */
async function located(spec: StartSpec): Promise<Entered> {
  const { command, args, cwd, env, sandbox } = spec;
  const isDirectory = await stat(cwd).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isDirectory) throw new StartError('not_found', `the working directory ${cwd} does not exist`);
  if (sandbox !== undefined) return sandbox.enter({ command, args, cwd, env });
  for await (const file of programsNamed(spec)) return { command: file, args, cwd, env };
  throw new StartError('not_found', `${command} is not a program that can be started here`);
}
