import type { ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import type { FromPart, ToPart } from '../messages.js';

/** A process of a start that does what a test says. */
export class FakeProcess extends EventEmitter {
  static #pids = 100;
  readonly pid = ++FakeProcess.#pids;
  readonly told: ToPart[] = [];
  connected = true;
  killed: NodeJS.Signals | undefined;

  get asProcess(): ChildProcess {
    return this as unknown as ChildProcess;
  }

  send(message: ToPart): boolean {
    this.told.push(message);
    this.emit('told', message);
    return true;
  }

  says(message: FromPart): void {
    this.emit('message', message);
  }

  isReady(): void {
    this.says({ kind: 'ready', walls: { kind: 'none', why: undefined }, stopMs: 0 });
  }

  exits(code: number | null = 1, signal: NodeJS.Signals | null = null): void {
    this.connected = false;
    this.emit('exit', code, signal);
  }

  kill(signal: NodeJS.Signals): boolean {
    this.killed = signal;
    this.exits(null, signal);
    return true;
  }
}
