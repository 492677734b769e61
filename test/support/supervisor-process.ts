import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

export interface SupervisorProcess {
  readonly child: ChildProcess;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Everything written so far, both channels. */
  output(): string;
  /** The address it prints once it is ready. @throws with the output when it ends before. */
  ready(ms?: number): Promise<string>;
}

interface Options {
  readonly uid?: number;
  readonly gid?: number;
  /** As it was built last, not from the sources. */
  readonly isBuilt?: boolean;
  /** Where another release lies. */
  readonly at?: string;
}

/** `serve` as a process of its own, with an environment that holds nothing else of ours. */
export function spawnSupervisor(env: Record<string, string>, { isBuilt = false, at = root, ...as }: Options = {}): SupervisorProcess {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_') && name !== 'NODE_OPTIONS'));
  const fromSources = ['--import', `${at}scripts/typescript.mjs`, `${at}src/entry/serve.ts`];
  const child = spawn(process.execPath, isBuilt ? [`${at}dist/src/entry/serve.js`] : fromSources, {
    cwd: at,
    env: { ...inherited, SVC_PORT: '0', SVC_LOG_LEVEL: 'warn', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...as,
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) =>
    child.once('exit', (code, signal) => resolve({ code, signal })),
  );
  const ready = (ms = 180_000): Promise<string> =>
    new Promise((resolve, reject) => {
      const limit = setTimeout(() => reject(new Error(`not ready within ${ms} ms:\n${text}`)), ms);
      const look = (): void => {
        // The address of the API alone has no path.
        const url = /(https?:\/\/[^\s/]+)\n/.exec(text)?.[1];
        if (url === undefined) return;
        clearTimeout(limit);
        resolve(url);
      };
      child.stdout.on('data', look);
      void exited.then(({ code }) => {
        clearTimeout(limit);
        reject(new Error(`ended with ${code} before it was ready:\n${text}`));
      });
      look();
    });
  return { child, exited, output: () => text, ready };
}
