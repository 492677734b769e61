import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Command } from 'commander';
import { flagsOf, withExamples, withTarget } from './command.js';
import type { Io } from './io.js';
import { resolveTarget, type TargetOptions } from './target.js';

const OPENERS: Partial<Record<NodeJS.Platform, string>> = { darwin: 'open', linux: 'xdg-open' };
/** A browser that has to be started first has read it by then. */
const KEPT_MS = 60_000;
const REMOVE = `setTimeout(() => require('node:fs').rmSync(process.argv[1], { recursive: true, force: true }), ${KEPT_MS})`;

/** Starts a program that goes on by itself. False when there is none of that name. */
type Start = (command: string, args: readonly string[]) => Promise<boolean>;

export function addUi(program: Command, io: Io, start: Start = started): void {
  const ui = program
    .command('ui')
    .description("open the operator's page in the browser, signed in with the key of this client")
    .option('--print', 'only print its address, without the key');
  withTarget(ui);
  withExamples(ui, 'svc ui', 'svc ui --print');
  ui.action(async (_options, command: Command) => {
    const flags = flagsOf<TargetOptions & { print?: boolean }>(command);
    const { url, key } = resolveTarget(flags, io);
    const address = `${url}/ui/`;
    const opener = OPENERS[process.platform];
    const opens = async (): Promise<boolean> => {
      if (opener === undefined) return false;
      // What is behind `#` is sent to nobody: the page takes the key from there, and out of the address.
      return key === undefined ? start(opener, [address]) : openedByFile(`${address}#key=${key}`, opener, start, io);
    };
    if (flags.print !== true && !(await opens())) io.err('no browser could be opened here: open the address yourself\n');
    await io.out(`${address}\n`);
  });
}

/**
 * Every account of the machine can read command lines: the browser is given a file that this account alone can read, and which leads to the
 * address. It is for a minute in the home folder, under a name that is not hidden: browsers in a sandbox (snap) see nothing else of it.
 */
async function openedByFile(address: string, opener: string, start: Start, io: Io): Promise<boolean> {
  let folder: string | undefined;
  try {
    folder = mkdtempSync(join(io.env.HOME ?? homedir(), 'svc-ui-'));
    const file = join(folder, 'open.html');
    const to = JSON.stringify(address).replaceAll('<', '\\u003c');
    writeFileSync(file, `<!doctype html><meta charset="utf-8"><title>svc</title><script>location.replace(${to})</script>\n`, {
      mode: 0o600,
    });
    if ((await start(opener, [pathToFileURL(file).href])) && (await start(process.execPath, ['-e', REMOVE, folder]))) return true;
  } catch {
    // Without a place for it nothing is opened.
  }
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  return false;
}

function started(command: string, args: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
