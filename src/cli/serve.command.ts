import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { flagsOf, withExamples } from './command.js';
import { CliError } from './errors.js';
import type { Io } from './io.js';
import { numberOf } from './values.js';

interface ServeFlags {
  readonly host?: string;
  readonly port?: string;
  readonly dataDir?: string;
}

/** The Node that the project pins; the client itself also runs on older ones. */
const PINNED_NODE = fileURLToPath(new URL('../../../node_modules/.bin/node', import.meta.url));

export function addServe(program: Command, io: Io): void {
  const serve = program
    .command('serve')
    .description('run the supervisor in the foreground')
    .option('--host <address>', 'address to listen on (SVC_HOST)')
    .option('--port <port>', 'port to listen on (SVC_PORT)')
    .option('--data-dir <path>', 'where everything is kept (SVC_DATA_DIR)');
  withExamples(serve, 'svc serve', 'svc serve --port 9000 --data-dir /var/lib/svc');
  serve.action(async (_options, command: Command) => {
    const { host, port, dataDir } = flagsOf<ServeFlags>(command);
    if (port !== undefined) numberOf('--port', port);
    const own = { SVC_HOST: host, SVC_PORT: port, SVC_DATA_DIR: dataDir };
    const code = await runEntry('serve', [], {
      ...io.env,
      ...Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined)),
    });
    if (code !== 0) throw new CliError('', code);
  });
}

/** Runs a program of `src/entry` in the foreground, and ends as it does. */
export function runEntry(name: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const program = fileURLToPath(new URL(`../entry/${name}.js`, import.meta.url));
  const child = spawn(existsSync(PINNED_NODE) ? PINNED_NODE : process.execPath, [program, ...args], { stdio: 'inherit', env });
  // Ctrl-C on a terminal reaches the child by itself; passed on as well it would count as the second one.
  const relay = (signal: NodeJS.Signals): void => {
    if (signal !== 'SIGINT' || process.stdin.isTTY !== true) child.kill(signal);
  };
  const signals: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, relay);
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new CliError(`cannot start the supervisor: ${error.message}`, 1)));
    child.once('exit', (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  }).finally(() => {
    for (const signal of signals) process.off(signal, relay);
  }) as Promise<number>;
}
