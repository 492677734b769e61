import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { nowUs } from './machine.js';

interface Incoming {
  readonly id?: number;
  readonly result?: { readonly sessionId?: string };
  readonly error?: unknown;
  readonly params?: { readonly update?: { readonly content?: { readonly text?: string } } };
}

/** An agent at the end of a pipe and nothing else: what the floors of sessions are made of. */
export class PipedAgent {
  /** Called with the text of each chunk. */
  onText: (text: string) => void = () => undefined;
  readonly #waiting = new Map<number, (answer: Incoming) => void>();
  readonly #process: ChildProcess;
  #calls = 0;
  #session = '';

  private constructor(command: readonly string[]) {
    const [program, ...args] = command;
    this.#process = spawn(program!, args, { stdio: ['pipe', 'pipe', 'ignore'] });
    createInterface({ input: this.#process.stdout! }).on('line', (line) => {
      const message = JSON.parse(line) as Incoming;
      if (message.id !== undefined) this.#waiting.get(message.id)?.(message);
      else if (message.params?.update?.content?.text !== undefined) this.onText(message.params.update.content.text);
    });
  }

  /** Spawned and initialized. */
  static async spawn(command: readonly string[]): Promise<PipedAgent> {
    const agent = new PipedAgent(command);
    await agent.call('initialize', { protocolVersion: 1, clientCapabilities: {} });
    return agent;
  }

  async begin(): Promise<void> {
    const answer = await this.call('session/new', { cwd: process.cwd(), mcpServers: [] });
    this.#session = answer.result!.sessionId!;
  }

  /** @returns the microsecond at which the prompt was written; `ended` resolves with the turn. */
  prompt(text: string): { readonly at: number; readonly ended: Promise<unknown> } {
    const at = nowUs();
    return { at, ended: this.call('session/prompt', { sessionId: this.#session, prompt: [{ type: 'text', text }] }) };
  }

  async call(method: string, params: unknown): Promise<Incoming> {
    const id = ++this.#calls;
    const answer = await new Promise<Incoming>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#process.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
    if (answer.error !== undefined) throw new Error(`${method}: ${JSON.stringify(answer.error)}`);
    return answer;
  }

  async end(): Promise<void> {
    const gone = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill('SIGKILL');
    await gone;
  }
}

/** Stamps of the stamping agent in a text, in their order. */
export function stampsIn(text: string): number[] {
  return [...text.matchAll(/at:(\d{16}) /g)].map(([, stamp]) => Number(stamp));
}
