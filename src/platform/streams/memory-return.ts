import { Injectable, type OnModuleInit } from '@nestjs/common';
import { MemoryReturn, QUIET } from '../health/memory-return.js';
import { EventStreams } from './event-streams.js';

/** Streams that must have left: the garbage of fewer is not worth a collection. */
const MANY = 500;
/** Share of the streams that may still be open. */
const LEFT_OVER = 0.1;

/**
 * Decides when to collect the garbage of closed streams: many have left, few are open, and the process was idle in two looks
 * in a row.
 */
export class ManyHaveLeft {
  #most = 0;
  #isQuiet = false;

  /** @param busy utilization of the event loop since the last look */
  look(open: number, busy: number): boolean {
    this.#most = Math.max(this.#most, open);
    const wasQuiet = this.#isQuiet;
    this.#isQuiet = this.#most - open >= MANY && open <= this.#most * LEFT_OVER && busy < QUIET;
    if (!this.#isQuiet || !wasQuiet) return false;
    this.#most = open;
    this.#isQuiet = false;
    return true;
  }
}

/** Has memory given back when streams have left: after 3,300 of them, each come back six times, a process went from 283 MB to 205. */
@Injectable()
export class MemoryOfStreams implements OnModuleInit {
  constructor(
    private readonly streams: EventStreams,
    private readonly memory: MemoryReturn,
  ) {}

  onModuleInit(): void {
    const left = new ManyHaveLeft();
    this.memory.also({ why: 'after many streams had left', look: ({ busy }) => left.look(this.streams.open, busy) });
  }
}
