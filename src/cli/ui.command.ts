import { spawn } from 'node:child_process';
import type { Command } from 'commander';
import { flagsOf, withExamples, withTarget } from './command.js';
import type { Io } from './io.js';
import { resolveTarget, type TargetOptions } from './target.js';

const OPENERS: Partial<Record<NodeJS.Platform, string>> = { darwin: 'open', linux: 'xdg-open' };

export function addUi(program: Command, io: Io): void {
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
    // What is behind `#` is sent to nobody: the page takes the key from there, and out of the address.
    if (flags.print !== true && !(await opened(key === undefined ? address : `${address}#key=${key}`)))
      io.err('no browser could be opened here: open the address yourself\n');
    await io.out(`${address}\n`);
  });
}

function opened(address: string): Promise<boolean> {
  const opener = OPENERS[process.platform];
  if (opener === undefined) return Promise.resolve(false);
  return new Promise((resolve) => {
    const child = spawn(opener, [address], { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
