import { Socket } from 'node:net';
import { Injectable } from '@nestjs/common';
import { sleep } from '../../../platform/time/clock.js';
import { connectTo } from './service-socket.js';

interface Owned {
  readonly socket: string;
  readonly open: Set<Socket>;
}

/** The services that run in this process's care, by their instance, and who is connected to each. */
@Injectable()
export class OwnedSockets {
  readonly #owned = new Map<string, Owned>();
  readonly #closing: ((instance: string) => void)[] = [];

  /** From now on whoever names the instance is connected to this socket. */
  open(instance: string, socket: string): void {
    this.#owned.set(instance, { socket, open: new Set() });
  }

  /** Hears of instances that nobody new is connected to. */
  onClosing(listener: (instance: string) => void): void {
    this.#closing.push(listener);
  }

  has(instance: string): boolean {
    return this.#owned.has(instance);
  }

  /** A connection to an instance; undefined when it is not here, or not any more. */
  connect(instance: string): Socket | undefined {
    const owned = this.#owned.get(instance);
    if (owned === undefined) return undefined;
    const socket = connection(owned.socket);
    owned.open.add(socket);
    socket.once('close', () => owned.open.delete(socket));
    return socket;
  }

  /** Nobody new comes in; those who are get this long. */
  async close(instance: string, drainMs: number): Promise<void> {
    const owned = this.#owned.get(instance);
    if (owned === undefined) return;
    this.#owned.delete(instance);
    for (const listener of this.#closing) listener(instance);
    const stop = new AbortController();
    const left = (): void => {
      if (owned.open.size === 0) stop.abort();
    };
    for (const socket of owned.open) socket.once('close', left);
    left();
    await sleep(drainMs, stop.signal);
    for (const socket of owned.open) socket.destroy();
  }
}

/** What fails at once is told as what fails later. */
function connection(socket: string): Socket {
  try {
    return connectTo(socket);
  } catch (error) {
    return new Socket().destroy(error as Error);
  }
}
