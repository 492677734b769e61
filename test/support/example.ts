import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { foreignEnvironment } from './cli.js';
import { eventually } from './sse.js';

export interface Example {
  /** Where it listens. */
  readonly url: string;
  stop(): Promise<void>;
}

/** One of `examples/` as a process of its own, with an environment that holds nothing else of ours. @throws with what it says when it ends at once */
export async function startExample(file: string, env: Readonly<Record<string, string>>): Promise<Example> {
  const path = fileURLToPath(new URL(`../../examples/${file}`, import.meta.url));
  const child = spawn(process.execPath, [path], { env: { ...foreignEnvironment(), PORT: '0', ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const found = /^(http:\S+)$/m.exec(text)?.[1];
      if (found !== undefined) resolve(found);
    });
    void exited.then(() => reject(new Error(`${file} ended:\n${text}`)));
  });
  return {
    url,
    stop: async () => {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** A program of `examples/` that has no address. */
export interface Program {
  /** Waits until its output shows this. @throws with all that it has said when it ends before */
  says(what: RegExp): Promise<void>;
  stop(how?: NodeJS.Signals): Promise<void>;
}

export function startProgram(file: string, env: Readonly<Record<string, string>>): Program {
  const path = fileURLToPath(new URL(`../../examples/${file}`, import.meta.url));
  const child = spawn(process.execPath, [path], { env: { ...foreignEnvironment(), ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const over = (): boolean => child.exitCode !== null || child.signalCode !== null;
  return {
    async says(what) {
      await eventually(() => what.test(text) || over()).catch(() => undefined);
      if (!what.test(text)) throw new Error(`${file} does not say ${what}:\n${text}`);
    },
    async stop(how = 'SIGTERM') {
      if (!over()) child.kill(how);
      await exited;
    },
  };
}
