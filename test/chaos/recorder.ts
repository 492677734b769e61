import { emptyHistory, type Connection, type Fault, type History, type Refusal } from './history.js';

const TICK_MS = 50;
const LATE_MS = 250;

/** The run's one clock and the history that grows with it. */
export class Recorder {
  readonly history: History;
  readonly #began = performance.now();

  constructor(seed: number, heartbeatMs: number) {
    this.history = emptyHistory(seed, heartbeatMs);
  }

  now(): number {
    return Math.round((performance.now() - this.#began) * 10) / 10;
  }

  connected(connection: Omit<Connection, 'number'>): Connection {
    const numbered = { number: this.history.connections.length, ...connection };
    this.history.connections.push(numbered);
    return numbered;
  }

  refused(refusal: Omit<Refusal, 'at'>): void {
    this.history.refusals.push({ at: this.now(), ...refusal });
  }

  /** Notes when this process itself does not get to run: then the others do not either. Ends with the answer. */
  watchMachine(): () => void {
    let last = this.now();
    const timer = setInterval(() => {
      const now = this.now();
      if (now - last > TICK_MS + LATE_MS) this.history.faults.push({ name: 'slow machine', from: last, to: now, pause: true });
      last = now;
    }, TICK_MS);
    return () => clearInterval(timer);
  }

  /** A fault that lasts until `to` is set. */
  fault(name: string, replica?: string, pause = false): Fault {
    const at = this.now();
    const fault: Fault = { name, from: at, to: at, ...(replica === undefined ? {} : { replica }), ...(pause ? { pause } : {}) };
    this.history.faults.push(fault);
    return fault;
  }
}
