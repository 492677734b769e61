import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { foreignEnvironment } from './cli.js';

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
