import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pinned } from './machine.js';
import type { Answer } from './rpc.js';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export interface ChildOptions {
  readonly name: string;
  readonly command: readonly string[];
  readonly core: number | undefined;
  /** Where its error output goes; shown when it ends by itself. */
  readonly tempDir: string;
  readonly env?: Readonly<Record<string, string>>;
  /** False for programs that do not speak our calls. */
  readonly rpc?: boolean;
}

/** A program of the bench or under test, in a process of its own. */
export class Child {
  readonly exited: Promise<void>;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #calls = 0;
  #running = true;

  private constructor(
    readonly name: string,
    private readonly process: ChildProcess,
    private readonly log: string,
  ) {
    this.exited = new Promise((resolve) => {
      const over = (): void => {
        this.#running = false;
        for (const { reject } of this.#waiting.values()) reject(new Error(`${this.name} has ended:\n${this.lastLines()}`));
        resolve();
      };
      process.once('exit', over);
      process.once('error', over);
    });
    process.on('message', (answer: Answer) => {
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if (answer.error === undefined) waiting?.resolve(answer.result);
      else waiting?.reject(new Error(`${name}: ${answer.error}`));
    });
  }

  static spawn(options: ChildOptions): Child {
    const log = join(options.tempDir, `${options.name}.log`);
    const errors = openSync(log, 'w');
    const [program, args] = pinned(options.core, options.command);
    const inherited = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_') && name !== 'NODE_OPTIONS'),
    );
    const child = spawn(program, args, {
      cwd: ROOT,
      env: { ...inherited, ...options.env },
      stdio: options.rpc === false ? ['ignore', 'ignore', errors] : ['ignore', 'ignore', errors, 'ipc'],
    });
    closeSync(errors);
    return new Child(options.name, child, log);
  }

  /** A TypeScript program of the bench, ready for calls. */
  static async program(
    file: string,
    options: Pick<ChildOptions, 'core' | 'tempDir' | 'env'> & { readonly flags?: readonly string[] },
  ): Promise<Child> {
    const command = [
      process.execPath,
      ...(options.flags ?? []),
      '--import',
      join(ROOT, 'scripts/typescript.mjs'),
      join(ROOT, 'bench', file),
    ];
    const child = Child.spawn({ ...options, name: file.replaceAll('/', '-'), command });
    await new Promise((resolve, reject) => child.#waiting.set(0, { resolve, reject }));
    return child;
  }

  get pid(): number {
    return this.process.pid!;
  }

  get running(): boolean {
    return this.#running;
  }

  call<T>(method: string, params: unknown = {}): Promise<T> {
    const id = ++this.#calls;
    return new Promise<T>((resolve, reject) => {
      if (!this.#running) return reject(new Error(`${this.name} has ended:\n${this.lastLines()}`));
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      this.process.send({ id, method, params });
    });
  }

  async stop(): Promise<void> {
    if (!this.#running) return;
    this.process.kill('SIGTERM');
    const hard = setTimeout(() => this.process.kill('SIGKILL'), 6_000);
    await this.exited;
    clearTimeout(hard);
  }

  lastLines(): string {
    return readFileSync(this.log, 'utf8').trim().split('\n').slice(-20).join('\n');
  }
}
